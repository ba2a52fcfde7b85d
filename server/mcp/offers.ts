/**
 * What servers offer a client beside tools: resources, their templates, prompts, completion of arguments, and skills. Each request
 * is a call of the protocol's method at one server, so that policy, approvals, labels and the audit log hold for it. URIs and names say
 * whose they are (`client-names.ts`).
 */
import { isObject } from "../../base/json.ts";
import { visibleLines } from "../../base/visible-text.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { namespacedName } from "../../protocol/tool-names.ts";
import {
  type ClientView,
  clientBlock,
  clientListed,
  clientPrompt,
  clientUri,
  isView,
  serverPrompt,
  serverUri,
} from "../../tools/client-names.ts";
import type { ClientRequest, ProgramAnswer } from "./programs/client-request.ts";
import type { ProgramReply } from "./tools/reply.ts";

type Members = Record<string, unknown>;

/** The client's connection, as offers use it. */
export interface OffersAccess {
  /** The tools and methods that the client may call now. */
  known(): Promise<Pick<ToolCatalog, "servers" | "get">>;
  /** What the client may be given of each server, by module. */
  views(): ReadonlyMap<string, ClientView>;
  /**
   * Calls a method of a server, and resolves with a reply whose structured content is the method's answer.
   *
   * @param asks whether a person may be asked. Otherwise a call that needs an approval fails.
   */
  call(tool: string, args: unknown, request: ClientRequest, asks: boolean): Promise<ProgramAnswer>;
}

/** The answer to a request, or a question of the person's first. */
export type OfferAnswer =
  | { kind: "result"; result: Members }
  | Extract<ProgramAnswer, { kind: "question" }>
  /** Why there is no answer. `unknown` where the client names nothing that it may have. */
  | { kind: "failed"; why: "unknown" | "refused"; message: string; data?: Members };

/** The lists that a client pages through. */
export type OfferedList = "resources/list" | "resources/templates/list" | "prompts/list" | "skills/list";

const MEMBER_OF = {
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
  "skills/list": "skills",
} as const;

/** The most items of one page. */
const PAGE = 1_000;
/** How many servers are listed at a time. */
const AT_A_TIME = 4;
/** The most servers that a list names as missing. */
const MAX_MISSING = 20;

export class Offers {
  readonly #access: OffersAccess;
  /** The lists whose first page was sent last. */
  readonly #listed = new Map<OfferedList, { items: Members[]; missing: string[] }>();

  constructor(access: OffersAccess) {
    this.#access = access;
  }

  /**
   * A page of what all servers offer. A server that cannot be listed, or for which a person would have to be asked, is left out and
   * named in `_meta["ptc/missing"]`.
   */
  async list(method: OfferedList, cursor: string | undefined, request: ClientRequest): Promise<OfferAnswer> {
    const from = cursor === undefined ? 0 : Number(/^ptc-(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
    if (Number.isNaN(from)) return failed("refused", "the cursor is not one that ptc gave");
    const kept = cursor === undefined ? undefined : this.#listed.get(method);
    const listed = kept ?? (await this.#listAll(method, request));
    if (listed.items.length > from + PAGE) this.#listed.set(method, listed);
    else this.#listed.delete(method);
    const next = listed.items.length > from + PAGE ? { nextCursor: `ptc-${from + PAGE}` } : {};
    const { missing } = listed;
    return {
      kind: "result",
      result: {
        [MEMBER_OF[method]]: listed.items.slice(from, from + PAGE),
        ...next,
        ...(missing.length === 0 ? {} : { _meta: { "ptc/missing": missing.slice(0, MAX_MISSING) } }),
      },
    };
  }

  async #listAll(method: OfferedList, request: ClientRequest) {
    const own = method === "resources/templates/list" ? "resources/list" : method;
    const views = this.#access.views();
    const servers = (await this.#access.known()).servers.flatMap(({ module }) => views.get(module) ?? []);
    const known = await this.#access.known();
    const asked = servers.filter(({ module }) => known.get(namespacedName(module, own)) !== undefined);
    const items: Members[][] = asked.map(() => []);
    const missing: string[] = [];
    let next = 0;
    const work = async () => {
      for (let index = next++; index < asked.length; index = next++) {
        const view = asked[index] as ClientView;
        const answer = await this.#access.call(namespacedName(view.module, own), {}, request, false);
        const data = answer.kind === "reply" ? dataOf(answer.reply) : undefined;
        const list = data?.[MEMBER_OF[method]];
        if (Array.isArray(list)) {
          items[index] = list.flatMap((each) => listedItem(method, each, view));
          const problems = Array.isArray(data?.problems) ? data.problems : [];
          missing.push(...problems.map((problem) => `${view.module}: ${problem}`));
        } else missing.push(`${view.module}: ${answer.kind === "reply" ? textOf(answer.reply) : "asks"}`);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    return { items: items.flat(), missing };
  }

  /** The contents of a resource (MCP 2025-11-25, "Reading Resources"). A failure names its URI (MCP 2026-07-28, "Error Handling"). */
  async read(uri: string, request: ClientRequest): Promise<OfferAnswer> {
    const answer = await this.#read(uri, request);
    return answer.kind === "failed" ? { ...answer, data: { uri } } : answer;
  }

  async #read(uri: string, request: ClientRequest): Promise<OfferAnswer> {
    const found = await this.#ofUri(uri);
    if (found === undefined) return failed("unknown", "no server offers such a resource");
    const answer = await this.#access.call(found.tool, { uri: found.uri }, request, true);
    return answerOf(answer, ({ contents }) => ({
      contents: (Array.isArray(contents) ? contents : []).flatMap((each) => contentsOf(each, found.view)),
    }));
  }

  /**
   * A skill by the URI of its SKILL.md (SEP-2640, "Retrieval via skills/get"). Its files are read as resources are. Nobody is asked for
   * it, as for a list: a result of 2026-07-28 can ask for three methods alone, and this is none of them.
   */
  async skill(uri: string, request: ClientRequest): Promise<OfferAnswer> {
    const found = await this.#ofUri(uri, "skills/get");
    if (found === undefined) return failed("unknown", NO_SKILL);
    const answer = await this.#access.call(found.tool, { uri: found.uri }, request, false);
    const shaped = answerOf(answer, ({ skill }) => ({ skill: skillOf(skill, found.view) }));
    const isNone = shaped.kind === "result" && shaped.result.skill === undefined;
    return isNone ? failed("unknown", NO_SKILL) : shaped;
  }

  /** Begins or ends a subscription, which is a call of `resources/read` with `subscribe` beside its URI. */
  async subscribe(uri: string, subscribe: boolean, request: ClientRequest): Promise<OfferAnswer> {
    const found = await this.#ofUri(uri);
    if (found === undefined) return failed("unknown", "no server offers such a resource");
    const answer = await this.#access.call(found.tool, { uri: found.uri, subscribe }, request, false);
    return answerOf(answer, () => ({}));
  }

  /** The messages of a prompt (MCP 2025-11-25, "Getting a Prompt"). */
  async prompt(name: string, args: unknown, request: ClientRequest): Promise<OfferAnswer> {
    const found = await this.#ofPrompt(name);
    if (found === undefined) return failed("unknown", "no server offers such a prompt");
    const given = { name: found.prompt, ...(args === undefined ? {} : { arguments: args }) };
    const answer = await this.#access.call(found.tool, given, request, true);
    return answerOf(answer, ({ description, messages }) => ({
      ...(typeof description === "string" ? { description: visibleLines(description) } : {}),
      messages: (Array.isArray(messages) ? messages : []).flatMap((each) =>
        isObject(each) ? { role: each.role, content: clientBlock(each.content, found.view) } : [],
      ),
    }));
  }

  /**
   * Completes an argument (MCP 2025-11-25, "Completion"). It may be completed where the prompt may be got, or the resource read: it is a
   * call of that method with `complete` beside its arguments.
   */
  async complete(
    ref: { type: string; name?: unknown; uri?: unknown },
    complete: Members,
    request: ClientRequest,
  ): Promise<OfferAnswer> {
    let call: { tool: string; args: Members } | undefined;
    if (ref.type === "ref/prompt") {
      const found = await this.#ofPrompt(String(ref.name));
      if (found !== undefined) call = { tool: found.tool, args: { name: found.prompt, complete } };
    } else {
      const found = await this.#ofUri(String(ref.uri));
      if (found !== undefined) call = { tool: found.tool, args: { uri: found.uri, complete } };
    }
    if (call === undefined) return failed("unknown", "no server offers what is to be completed");
    const answer = await this.#access.call(call.tool, call.args, request, false);
    return answerOf(answer, ({ completion }) => ({ completion: completionOf(completion) }));
  }

  async #ofUri(uri: string, method: "resources/read" | "skills/get" = "resources/read") {
    const parsed = serverUri(uri);
    const view = parsed && this.#access.views().get(parsed.module);
    if (parsed === undefined || view === undefined || (!view.apps && isView(parsed.uri))) return undefined;
    const tool = namespacedName(parsed.module, method);
    return (await this.#access.known()).get(tool) && { tool, view, uri: parsed.uri };
  }

  async #ofPrompt(name: string) {
    const parsed = serverPrompt(name);
    const view = parsed && this.#access.views().get(parsed.module);
    if (parsed === undefined || view === undefined) return undefined;
    const tool = namespacedName(parsed.module, "prompts/get");
    return (await this.#access.known()).get(tool) && { tool, view, prompt: parsed.prompt };
  }
}

const NO_SKILL = "no server offers such a skill";

function failed(why: "unknown" | "refused", message: string): OfferAnswer {
  return { kind: "failed", why, message };
}

function answerOf(answer: ProgramAnswer, shape: (data: Members) => Members): OfferAnswer {
  if (answer.kind === "question") return answer;
  const data = dataOf(answer.reply);
  return data === undefined
    ? failed("refused", textOf(answer.reply))
    : { kind: "result", result: shape(data) };
}

/** A method's answer; `undefined` if the call failed. A call that went on as a program has it in its envelope. */
function dataOf(reply: ProgramReply): Members | undefined {
  if (reply.isError === true) return undefined;
  if (isObject(reply.structuredContent)) return reply.structuredContent;
  const envelope = reply._meta?.["ptc/envelope"];
  const result = isObject(envelope) ? envelope.result : undefined;
  return isObject(result) && isObject(result.data) ? result.data : undefined;
}

function textOf({ content }: ProgramReply): string {
  const [first] = content;
  return first?.type === "text" ? first.text : "it gave no answer";
}

/** Of what clients check in a list, the members of the right type. One wrong item would cost a client the whole list. */
function texts(item: Members, ...names: string[]): Members {
  return Object.fromEntries(
    names.filter((name) => typeof item[name] === "string").map((name) => [name, item[name]]),
  );
}

function listedItem(method: OfferedList, item: unknown, view: ClientView): Members[] {
  if (method === "skills/list") return [skillOf(item, view)].filter((skill) => skill !== undefined);
  if (!isObject(item) || typeof item.name !== "string") return [];
  const shown = { icons: item.icons, _meta: item._meta };
  if (method === "prompts/list") {
    const given = Array.isArray(item.arguments) ? item.arguments : [];
    const args = given.flatMap((each) =>
      isObject(each) && typeof each.name === "string"
        ? clientListed(
            {
              ...texts(each, "name", "title", "description"),
              ...(typeof each.required === "boolean" ? { required: each.required } : {}),
            },
            view,
          )
        : [],
    );
    const prompt = clientListed({ ...texts(item, "title", "description"), ...shown }, view);
    return [{ name: clientPrompt(view.module, item.name), ...prompt, arguments: args }];
  }
  const key = method === "resources/list" ? "uri" : "uriTemplate";
  const uri = item[key];
  if (typeof uri !== "string" || (isView(uri) && !view.apps)) return [];
  const listed = { ...texts(item, "name", "title", "description", "mimeType"), ...shown };
  return [
    {
      [key]: clientUri(view.module, uri),
      ...clientListed(listed, view),
      ...(typeof item.size === "number" ? { size: item.size } : {}),
      ...annotationsOf(item.annotations),
    },
  ];
}

/** An entry of a skill, whose URIs say whose they are. The frontmatter stays as it is, since clients compare it with the file. */
function skillOf(skill: unknown, view: ClientView): Members | undefined {
  if (!isObject(skill) || typeof skill.uri !== "string" || (isView(skill.uri) && !view.apps))
    return undefined;
  const { uri, frontmatter, resources } = skill;
  const withUri = (file: unknown) =>
    isObject(file) ? { ...file, uri: clientUri(view.module, String(file.uri)) } : file;
  return {
    uri: clientUri(view.module, uri),
    frontmatter,
    resources: Array.isArray(resources) ? resources.map(withUri) : resources,
  };
}

/** Annotations as clients accept them (MCP 2025-11-25, "Annotations"). */
function annotationsOf(annotations: unknown): Members {
  if (!isObject(annotations)) return {};
  const { audience, priority, lastModified } = annotations;
  const isFor = Array.isArray(audience) && audience.every((each) => each === "user" || each === "assistant");
  const isWeighed = typeof priority === "number" && priority >= 0 && priority <= 1;
  const isDated = typeof lastModified === "string" && !Number.isNaN(Date.parse(lastModified));
  return {
    annotations: {
      ...(isFor ? { audience } : {}),
      ...(isWeighed ? { priority } : {}),
      ...(isDated ? { lastModified } : {}),
    },
  };
}

function contentsOf(contents: unknown, view: ClientView): Members[] {
  if (!isObject(contents) || typeof contents.uri !== "string") return [];
  const { text, blob } = contents;
  if (typeof text !== "string" && typeof blob !== "string") return [];
  if (isView(contents.uri) && !view.apps) return [];
  const content = { ...texts(contents, "uri", "mimeType", "text", "blob"), _meta: contents._meta };
  return [clientBlock(content, view) as Members];
}

/** The most values that MCP allows in one completion. */
const MAX_VALUES = 100;

function completionOf(completion: unknown): Members {
  const { values, total, hasMore } = isObject(completion) ? completion : {};
  const given = Array.isArray(values) ? values.filter((each) => typeof each === "string") : [];
  return {
    values: given.slice(0, MAX_VALUES),
    ...(Number.isSafeInteger(total) ? { total } : {}),
    ...(typeof hasMore === "boolean" ? { hasMore } : {}),
  };
}
