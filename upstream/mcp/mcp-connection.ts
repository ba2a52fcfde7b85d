import type { Client } from "@modelcontextprotocol/client";
import { isObject } from "../../base/json.ts";
import { SKILLS_EXTENSION } from "../../protocol/extensions.ts";
import type {
  ServerNotice,
  ToolProblem,
  UpstreamCall,
  UpstreamConnection,
  UpstreamImplementation,
  UpstreamListing,
} from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { CallSender, type Offered, TOTAL_TIMES } from "./call-sender.ts";
import type { Link } from "./server-link.ts";
import {
  callMethod,
  METHOD_CAPABILITIES,
  type MethodCapability,
  methodOf,
  type ServerMethod,
  withMethods,
} from "./server-methods.ts";
import { isUnknownMethod } from "./server-session.ts";
import { KnownSkills } from "./skills.ts";
import { needsTask } from "./task.ts";
import { listAllPages, problemsOf, ToolListingError } from "./tool-listing.ts";
import { factsOf, type UpstreamFaults } from "./upstream-faults.ts";

/** The time for a whole listing. Calls that wait for a listing have their own time limits. */
const LIST_TIMEOUT_MS = 300_000;
/** The time in which a server must say whether it has any resources or prompts. */
const METHODS_TIMEOUT_MS = 10_000;
/** The maximum length of a server's name and version, which are written to files. */
const MAX_IMPLEMENTATION_CHARS = 256;

/** The lists of a capability. Its methods are useful only if at least one list is not empty. */
const LISTS_OF: Readonly<Record<MethodCapability, readonly (readonly [method: string, member: string])[]>> = {
  resources: [
    ["resources/list", "resources"],
    ["resources/templates/list", "resourceTemplates"],
  ],
  prompts: [["prompts/list", "prompts"]],
  skills: [["skills/list", "skills"]],
};

/** A connected server, with which the MCP client has negotiated a protocol version. */
export class McpConnection implements UpstreamConnection {
  readonly #implementation: UpstreamImplementation;
  readonly #protocolVersion: string;
  readonly #client: Client;
  readonly #link: Link;
  readonly #faults: UpstreamFaults;
  readonly #pageTimeoutMs: number;
  #toolsChanged: (() => void)[] = [];
  #lost: ((reason: UpstreamError) => void)[] = [];
  readonly #calls: CallSender;
  /** The capabilities with non-empty lists, as of the last listing. */
  #offered: ReadonlySet<MethodCapability> = new Set();
  #notice: (notice: ServerNotice) => void = () => {};
  /** The resources that were subscribed to. */
  readonly #subscribed = new Set<string>();
  readonly #skills = new KnownSkills();
  #reason: UpstreamError | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param pageTimeoutMs the time for one page of a listing.
   * @param offered what the server may ask for.
   */
  constructor(client: Client, link: Link, faults: UpstreamFaults, pageTimeoutMs: number, offered: Offered) {
    this.#client = client;
    this.#link = link;
    this.#faults = faults;
    this.#pageTimeoutMs = pageTimeoutMs;
    const { name, version } = client.getServerVersion() ?? { name: "", version: "" };
    this.#implementation = {
      name: name.slice(0, MAX_IMPLEMENTATION_CHARS),
      version: version.slice(0, MAX_IMPLEMENTATION_CHARS),
    };
    this.#protocolVersion = client.getNegotiatedProtocolVersion() ?? "";
    link.session.onListsChanged = (lists) => {
      const offered = (["resources", "prompts"] as const).filter((each) => lists.has(each));
      if (offered.length > 0) this.#notice({ kind: "listed", lists: offered });
      // A listing does not include resources and prompts, but depends on whether there are any.
      const found = offered.some((each) => this.#couldOffer(each));
      if (!lists.has("tools") && !found) return;
      for (const listener of this.#toolsChanged) listener();
    };
    link.session.onResourceUpdated = (uri) => {
      if (this.#subscribed.has(uri)) this.#notice({ kind: "updated", uri });
    };
    link.session.onMessage = (params) => this.#notice({ kind: "message", params });
    this.#calls = new CallSender(link.session, faults, offered, (error, timeoutMs, signal, spentMs) =>
      this.#fault(error, timeoutMs, signal, spentMs),
    );
    client.onclose = () => this.#lose(faults.ofLoss(link.diagnosis));
    if (client.transport === undefined) this.#lose(faults.ofLoss(link.diagnosis));
    // Errors that belong to no request are dropped, such as a late answer to a cancelled request.
    client.onerror = () => {};
  }

  async list(signal?: AbortSignal): Promise<UpstreamListing> {
    const problems: ToolProblem[] = [];
    const ttlsMs: number[] = [];
    const tools = await this.#listTools(signal, (page) => {
      problems.push(...problemsOf(page));
      const ttlMs = isObject(page) ? page.ttlMs : undefined;
      if (typeof ttlMs === "number" && ttlMs >= 0) ttlsMs.push(ttlMs);
    });
    this.#offered = new Set();
    this.#offered = await this.#findOffered(signal);
    return {
      implementation: this.#implementation,
      protocolVersion: this.#protocolVersion,
      tools: withMethods(tools, this.#offered),
      ...(ttlsMs.length > 0 ? { ttlMs: Math.min(...ttlsMs) } : {}),
      ...(problems.length > 0 ? { problems } : {}),
    };
  }

  async #listTools(signal: AbortSignal | undefined, onPage: (page: unknown) => void): Promise<unknown[]> {
    const began = performance.now();
    try {
      return await listAllPages(async (cursor) => {
        const leftMs = LIST_TIMEOUT_MS - (performance.now() - began);
        if (leftMs <= 0) throw new ToolListingError(`took ${LIST_TIMEOUT_MS / 1_000} s to list its tools`);
        const page = await this.#link.session.request(
          "tools/list",
          cursor === undefined ? undefined : { cursor },
          { timeoutMs: Math.ceil(Math.min(this.#pageTimeoutMs, leftMs)), signal },
        );
        onPage(page);
        return page;
      });
    } catch (error) {
      const noTools = this.#client.getServerCapabilities()?.tools === undefined;
      if (noTools && isUnknownMethod(error)) return [];
      const facts = factsOf(error);
      if (facts.kind === "timeout" && signal?.aborted !== true)
        throw this.#faults.ofListTimeout(this.#pageTimeoutMs, error);
      throw this.#fault(error, this.#pageTimeoutMs, signal);
    }
  }

  /** The declared capabilities whose lists are not empty. @throws UpstreamError */
  async #findOffered(signal: AbortSignal | undefined): Promise<Set<MethodCapability>> {
    const declared = METHOD_CAPABILITIES.filter((each) => this.#couldOffer(each));
    const found = await Promise.all(
      declared.map(async (capability) => {
        for (const [method, member] of LISTS_OF[capability]) {
          if (await this.#hasSome(method, member, signal)) return capability;
        }
        return undefined;
      }),
    );
    const offered = new Set(found.filter((capability) => capability !== undefined));
    // The files of skills are resources, which servers need not list.
    if (offered.has("skills")) offered.add("resources");
    return offered;
  }

  /** Whether the server declares a capability that is not yet known to have a non-empty list. */
  #couldOffer(capability: MethodCapability): boolean {
    const capabilities = this.#client.getServerCapabilities();
    const declared =
      capability === "skills" ? capabilities?.extensions?.[SKILLS_EXTENSION] : capabilities?.[capability];
    return declared !== undefined && !this.#offered.has(capability);
  }

  /** Whether a list is not empty, according to its first page. A list that fails counts as not empty. @throws UpstreamError */
  async #hasSome(method: string, member: string, signal: AbortSignal | undefined): Promise<boolean> {
    const timeoutMs = Math.min(this.#pageTimeoutMs, METHODS_TIMEOUT_MS);
    try {
      const page = await this.#link.session.request(method, {}, { timeoutMs, signal });
      const listed = isObject(page) ? page[member] : undefined;
      const isLast = isObject(page) && (page.nextCursor ?? "") === "";
      return !(Array.isArray(listed) && listed.length === 0 && isLast);
    } catch (error) {
      if (isUnknownMethod(error)) return false;
      const { kind } = factsOf(error);
      const isOfThisList = kind === "answer" || kind === "timeout" || kind === "http" || kind === "garbage";
      if (isOfThisList && signal?.aborted !== true) return true;
      throw this.#fault(error, timeoutMs, signal);
    }
  }

  async callTool(call: UpstreamCall): Promise<unknown> {
    const { tool, arguments: args, definition } = call;
    const method = methodOf(definition);
    if (method !== undefined) return this.#callMethod(method, call);
    const isTask =
      this.#client.getProtocolEra() !== "modern" &&
      needsTask(definition, this.#client.getServerCapabilities());
    const params = {
      name: tool,
      ...(args === undefined ? {} : { arguments: args }),
      ...(isTask ? { task: { ttl: call.timeoutMs * TOTAL_TIMES } } : {}),
    };
    return this.#calls.call("tools/call", params, call, buildParameterHeaders(definition, args));
  }

  async #callMethod(method: ServerMethod, call: UpstreamCall): Promise<unknown> {
    try {
      const skills = this.#offered.has("skills") ? this.#skills : undefined;
      const result = await callMethod(method, call, (...request) => this.#calls.call(...request), skills);
      this.#noteSubscription(call.arguments);
      return result;
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      throw this.#fault(error, call.timeoutMs, call.signal, call.spentMs);
    }
  }

  onToolsChanged(listener: () => void): void {
    this.#toolsChanged.push(listener);
    if (this.#toolsChanged.length > 1 || this.#client.getProtocolEra() !== "modern") return;
    const { tools, resources, prompts } = this.#client.getServerCapabilities() ?? {};
    const announced = {
      ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
      ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    };
    if (Object.keys(announced).length === 0) return;
    // If this fails, changes are noticed when the server is next listed.
    this.#client.listen(announced).catch(() => {});
  }

  #noteSubscription(args: unknown): void {
    if (!isObject(args) || typeof args.uri !== "string") return;
    if (args.subscribe === true) this.#subscribed.add(args.uri);
    else if (args.subscribe === false) this.#subscribed.delete(args.uri);
  }

  onNotice(listener: (notice: ServerNotice) => void): void {
    this.#notice = listener;
  }

  isFollowed(): boolean {
    return this.#subscribed.size > 0;
  }

  onLost(listener: (reason: UpstreamError) => void): void {
    if (this.#reason !== undefined && this.#closing === undefined) listener(this.#reason);
    this.#lost.push(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#link.end();
    return this.#closing;
  }

  #lose(reason: UpstreamError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    if (this.#closing !== undefined) return;
    for (const listener of this.#lost) listener(reason);
  }

  #fault(error: unknown, timeoutMs: number, signal: AbortSignal | undefined, spentMs = 0): UpstreamError {
    const fault = this.#faults.ofRequest(factsOf(error), timeoutMs, signal, this.#link.diagnosis, spentMs);
    if (fault.code === "disconnected") {
      this.#lose(fault);
      this.#link.end().catch(() => {});
    }
    return fault;
  }
}

/**
 * Repeats arguments in headers, for proxies to route by: those of input properties marked `x-mcp-header` (MCP 2026-07-28,
 * "Streamable HTTP", "Schema Extension"). Servers reject a call without these headers.
 */

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES = ["string", "integer", "boolean"];
const MAX_DEPTH = 32;

export function buildParameterHeaders(definition: unknown, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const visit = (schema: unknown, value: unknown, depth: number): void => {
    if (!isObject(schema) || value === undefined || value === null || depth > MAX_DEPTH) return;
    const name = schema["x-mcp-header"];
    const text = headerText(value);
    if (
      typeof name === "string" &&
      TOKEN.test(name) &&
      TYPES.includes(schema.type as string) &&
      text !== undefined
    ) {
      headers[`Mcp-Param-${name}`] = encode(text);
    }
    if (!isObject(schema.properties) || !isObject(value)) return;
    for (const [key, property] of Object.entries(schema.properties)) {
      if (Object.hasOwn(value, key)) visit(property, value[key], depth + 1);
    }
  };
  if (isObject(definition)) visit(definition.inputSchema, args, 0);
  return headers;
}

function headerText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** Encodes text that a header cannot contain in Base64, with a mark. */
function encode(text: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}
