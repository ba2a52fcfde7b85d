import { isObject } from "../../base/json.ts";
import type { UpstreamCall } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { isInvalidParams, isUnknownMethod } from "./server-session.ts";
import { type KnownSkills, parseSkill, type SkillEntry } from "./skills.ts";
import { type Listed, listAllPages, ToolListingError } from "./tool-listing.ts";

/**
 * Resources, prompts and skills of a server, which programs use like its tools: each protocol method is listed as a definition next to those
 * of the tools, and so passes the same policy, approvals, audit and archive.
 */

/** A method of MCP that is called like a tool, under its own name. */
export type ServerMethod =
  | "resources/read"
  | "resources/list"
  | "prompts/get"
  | "prompts/list"
  | "skills/get"
  | "skills/list";

/** A capability of a server whose methods are listed as tools are. */
export type MethodCapability = "resources" | "prompts" | "skills";

export const METHOD_CAPABILITIES: readonly MethodCapability[] = ["resources", "prompts", "skills"];

/** The definition of a method for `ptc generate` and calls. `method` marks it; definitions of servers never have that member. */
interface MethodDefinition {
  name: ServerMethod;
  method: ServerMethod;
  title: string;
  description: string;
  inputSchema: object;
  outputSchema: object;
  annotations: object;
}

const TEXT = { type: "string" };
const READ_ONLY = { readOnlyHint: true };
const NOTHING = { type: "object", properties: {}, additionalProperties: false };

function objectOf(properties: Record<string, object>, ...required: string[]): object {
  return { type: "object", properties, required };
}

function listOf(items: object): object {
  return { type: "array", items };
}

const RESOURCE = { name: TEXT, title: TEXT, description: TEXT, mimeType: TEXT };

/** @param description ends with how a program may also call it. */
function definitionOf(
  method: ServerMethod,
  title: string,
  description: string,
  inputSchema: object,
  outputSchema: object,
): MethodDefinition {
  return { name: method, method, title, description, inputSchema, outputSchema, annotations: READ_ONLY };
}

const PROMPT_ARGUMENT = objectOf({ name: TEXT, description: TEXT, required: { type: "boolean" } }, "name");
const PROMPT = { name: TEXT, title: TEXT, description: TEXT, arguments: listOf(PROMPT_ARGUMENT) };
const MESSAGE = objectOf({ role: { enum: ["user", "assistant"] }, content: {} }, "role", "content");

const FILE = objectOf({ uri: TEXT, digest: TEXT, size: { type: "number" } }, "uri", "digest", "size");
const SKILL = objectOf(
  { uri: TEXT, frontmatter: { type: "object" }, resources: { anyOf: [listOf(FILE), { const: "dynamic" }] } },
  "uri",
  "frontmatter",
  "resources",
);

/** By capability of the server (MCP 2025-11-25 and 2026-07-28, "Resources" and "Prompts"; SEP-2640, "Skills"). */
const DEFINITIONS: Readonly<Record<MethodCapability, readonly MethodDefinition[]>> = {
  resources: [
    definitionOf(
      "resources/list",
      "List resources",
      "Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. " +
        "In a program also `resources.list()`.",
      NOTHING,
      objectOf(
        {
          resources: listOf(objectOf({ uri: TEXT, ...RESOURCE, size: { type: "number" } }, "uri", "name")),
          resourceTemplates: listOf(objectOf({ uriTemplate: TEXT, ...RESOURCE }, "uriTemplate", "name")),
        },
        "resources",
        "resourceTemplates",
      ),
    ),
    definitionOf(
      "resources/read",
      "Read a resource",
      "Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. " +
        "In a program also `resources.read(uri)`.",
      objectOf({ uri: TEXT }, "uri"),
      objectOf(
        { contents: listOf(objectOf({ uri: TEXT, mimeType: TEXT, text: TEXT, blob: TEXT }, "uri")) },
        "contents",
      ),
    ),
  ],
  prompts: [
    definitionOf(
      "prompts/get",
      "Get a prompt",
      "Gets the messages of a prompt of this server. In a program also `prompts.get(name, args)`.",
      objectOf({ name: TEXT, arguments: { type: "object", additionalProperties: TEXT } }, "name"),
      objectOf({ description: TEXT, messages: listOf(MESSAGE) }, "messages"),
    ),
    definitionOf(
      "prompts/list",
      "List prompts",
      "Lists the prompts of this server and their arguments. In a program also `prompts.list()`.",
      NOTHING,
      objectOf({ prompts: listOf(objectOf(PROMPT, "name")) }, "prompts"),
    ),
  ],
  skills: [
    definitionOf(
      "skills/get",
      "Get a skill",
      "Gets a skill of this server by the URI of its SKILL.md: its frontmatter, and its files, which are resources. " +
        "There is no `skill` where the server has none of that URI.",
      objectOf({ uri: TEXT }, "uri"),
      objectOf({ skill: SKILL }),
    ),
    definitionOf(
      "skills/list",
      "List skills",
      "Lists the skills of this server, which are instructions for a model, and the files of each, which are resources. " +
        "`problems` says which are left out and why.",
      NOTHING,
      objectOf({ skills: listOf(SKILL), problems: listOf(TEXT) }, "skills"),
    ),
  ],
};

/**
 * The tools that a server listed, followed by a definition of each method of the capabilities. If a tool has the name of a method,
 * the method is left out.
 *
 * @param capabilities those with non-empty lists: many servers declare resources and prompts but have none.
 */
export function withMethods(
  tools: readonly unknown[],
  capabilities: ReadonlySet<MethodCapability>,
): unknown[] {
  const read = new Set(
    tools.map((tool) => (isObject(tool) && typeof tool.name === "string" ? lettersOf(tool.name) : "")),
  );
  const offered = METHOD_CAPABILITIES.flatMap((capability) =>
    capabilities.has(capability) ? DEFINITIONS[capability] : [],
  );
  return [...tools.map(unmarked), ...offered.filter(({ name }) => !read.has(lettersOf(name)))];
}

/** The method that a definition stands for; `undefined` for a tool. */
export function methodOf(definition: unknown): ServerMethod | undefined {
  if (!isObject(definition)) return undefined;
  const { name, method } = definition;
  const all = Object.values(DEFINITIONS).flat();
  return name === method ? all.find((each) => each.name === name)?.name : undefined;
}

/** Prevents a server's own definition from posing as a method. */
function unmarked(tool: unknown): unknown {
  if (!isObject(tool) || !Object.hasOwn(tool, "method")) return tool;
  const { method: _, ...rest } = tool;
  return rest;
}

function lettersOf(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

type Params = Readonly<Record<string, unknown>>;

/** Sends one request of a call. @throws UpstreamError */
export type SendRequest = (
  method: string,
  params: Params,
  call: UpstreamCall,
) => Promise<Record<string, unknown>>;

/**
 * Calls a server's method as if it were a tool: resolves with a result whose structured content is the method's answer. Lists are
 * followed to their last page, within the time limit of one call. With `complete` among the arguments, what the method would get is not
 * got, and an argument of it is completed (MCP 2025-11-25, "Completion"). With `subscribe`, a resource is not read, and a
 * subscription to it begins or ends ("Subscriptions").
 *
 * @param skills what is known of the server's skills, where it has any. Files of skills are compared with it.
 * @throws UpstreamError, and ToolListingError for an answer that is not valid for the method.
 */
export async function callMethod(
  method: ServerMethod,
  call: UpstreamCall,
  send: SendRequest,
  skills?: KnownSkills,
): Promise<unknown> {
  const began = performance.now();
  const sendInTime = (name: string, params: Params) =>
    send(name, params, { ...call, spentMs: (call.spentMs ?? 0) + performance.now() - began });
  const list = (listed: Listed): Promise<unknown[]> =>
    listAllPages((cursor) => sendInTime(listed.method, cursor === undefined ? {} : { cursor }), listed);
  const given = isObject(call.arguments) ? call.arguments : {};
  const { complete, subscribe, ...params } = given;
  if (typeof subscribe === "boolean" && method === "resources/read") {
    await sendInTime(subscribe ? "resources/subscribe" : "resources/unsubscribe", params);
    return structured({ contents: [] });
  }
  if (isObject(complete) && (method === "prompts/get" || method === "resources/read")) {
    const ref =
      method === "prompts/get"
        ? { type: "ref/prompt", name: params.name }
        : { type: "ref/resource", uri: params.uri };
    const { completion } = await sendInTime("completion/complete", { ...complete, ref }).catch(
      (error: unknown) => {
        // A server may have prompts and templates without completing their arguments.
        if (error instanceof UpstreamError && isUnknownMethod(error.cause))
          return { completion: { values: [] } };
        throw error;
      },
    );
    return structured({ completion, ...(method === "prompts/get" ? { messages: [] } : { contents: [] }) });
  }
  switch (method) {
    case "resources/list": {
      const resources = await list({ method, member: "resources", noun: "resources" });
      const templates = { method: "resources/templates/list", member: "resourceTemplates" };
      const resourceTemplates = await list({ ...templates, noun: "templates of resources" }).catch(
        (error: unknown) => {
          // A server may have resources but no templates.
          if (error instanceof UpstreamError && isUnknownMethod(error.cause)) return [];
          throw error;
        },
      );
      return structured({ resources, resourceTemplates });
    }
    case "prompts/list":
      return structured({ prompts: await list({ method, member: "prompts", noun: "prompts" }) });
    case "resources/read": {
      // A server that cannot list its skills promises nothing of its files.
      if (skills?.isListed === false) await listSkills(list, skills).catch(() => {});
      const { contents } = await sendInTime(method, params);
      if (!Array.isArray(contents)) throw noAnswerTo(method);
      const fault = skills?.faultOf(params.uri, contents);
      if (fault !== undefined) throw new ToolListingError(fault);
      return structured({ contents });
    }
    case "prompts/get": {
      const { description, messages } = await sendInTime(method, params);
      if (!Array.isArray(messages)) throw noAnswerTo(method);
      return structured({ ...(typeof description === "string" ? { description } : {}), messages });
    }
    case "skills/list":
      return structured(await listSkills(list, skills));
    case "skills/get": {
      const answer = await sendInTime(method, params).catch((error: unknown) => {
        if (error instanceof UpstreamError && isInvalidParams(error.cause)) return undefined;
        throw error;
      });
      if (typeof params.uri === "string") skills?.forget(params.uri);
      if (answer === undefined) return structured({});
      const skill = parseSkill(answer.skill);
      if (typeof skill === "string") throw new ToolListingError(`answered ${method} with no skill: ${skill}`);
      if (skill.uri !== params.uri) throw noAnswerTo(method);
      skills?.keep(skill);
      return structured({ skill });
    }
  }
}

async function listSkills(list: (listed: Listed) => Promise<unknown[]>, known?: KnownSkills) {
  const listed = await list({ method: "skills/list", member: "skills", noun: "skills" });
  const parsed = listed.map(parseSkill);
  const skills = parsed.filter((each): each is SkillEntry => typeof each !== "string");
  const problems = parsed.filter((each) => typeof each === "string");
  known?.list(skills);
  return { skills, ...(problems.length === 0 ? {} : { problems }) };
}

function structured(structuredContent: Params) {
  return { content: [], structuredContent };
}

function noAnswerTo(method: string): ToolListingError {
  return new ToolListingError(`answered ${method} with something that is no answer to it`);
}
