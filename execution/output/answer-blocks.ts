import { isObject, writeJson } from "../../base/json.ts";
import { isFailure } from "../../broker/normalize-result.ts";
import { EmittedBlock, MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } from "../../protocol/emitted.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { describeEmitted, redactEmitted } from "./emitted-blocks.ts";
import { noteMediaIn } from "./media-notes.ts";

/** A tool's answer as it can be handed on to a client (MCP 2025-11-25, "Tool Result"), without secrets. */
export interface ToolAnswer {
  /** Its content. A line of text replaces each block that MCP does not define, or that exceeds what a program may emit. */
  blocks: readonly AnswerBlock[];
  structuredContent: Record<string, unknown> | undefined;
  /** Whether the server says that its tool has failed. */
  isFailure: boolean;
  /** Whether `structuredContent` is as the server gave it. */
  isWhole: boolean;
  /** What the server says to the client beside the result. */
  meta?: Record<string, unknown> | undefined;
}

/** A block with its server's annotations for clients. */
type AnswerBlock = EmittedBlock & {
  readonly annotations?: Record<string, unknown>;
  readonly icons?: unknown;
  readonly size?: unknown;
  readonly _meta?: Record<string, unknown>;
};

/** What is said to clients alone is left out if it is longer than this, in characters of JSON. */
const MAX_SAID_CHARS = 64 * 1024;

/** The members that are handed on, by type of block. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource: ["resource"],
  resource_link: ["uri", "name", "title", "description", "mimeType"],
};
const RESOURCE_MEMBERS = ["uri", "mimeType", "text", "blob"];

/** Reads the parts of a server's answer that a client can use. */
export function readAnswer(raw: unknown, redactor: Pick<Redactor, "redactText" | "redactValue">): ToolAnswer {
  const result = isObject(raw) ? raw : {};
  const { content, structuredContent: structured } = result;
  const failed = isFailure(result);
  const listed = Array.isArray(content) ? content : [];
  const { blocks: bare } = redactEmitted(boundBlocks(listed), redactor);
  const blocks = bare.map((block, index) => withSaid(block, listed[index], redactor));
  const meta = saidIn(result._meta, redactor);
  if (!isObject(structured))
    return { blocks, structuredContent: undefined, isFailure: failed, isWhole: true, meta };
  const { value, count } = redactor.redactValue(structured);
  return {
    blocks,
    structuredContent: value as Record<string, unknown>,
    isFailure: failed,
    isWhole: count === 0,
    meta,
  };
}

type Values = Pick<Redactor, "redactValue">;

/** A block with those of its server's annotations that MCP defines. */
function withSaid(block: EmittedBlock, given: unknown, redactor: Values): AnswerBlock {
  // A line of text that replaces a block is ptc's own.
  if (!isObject(given) || given.type !== block.type) return block;
  const annotations = saidIn(given.annotations, redactor);
  const _meta = saidIn(given._meta, redactor);
  const said = {
    ...(annotations !== undefined && isAnnotations(annotations) ? { annotations } : {}),
    ...(_meta === undefined ? {} : { _meta }),
  };
  if (block.type === "resource") {
    const ofResource = isObject(given.resource) ? saidIn(given.resource._meta, redactor) : undefined;
    const resource = { ...block.resource, ...(ofResource === undefined ? {} : { _meta: ofResource }) };
    return { ...block, ...said, resource };
  }
  if (block.type !== "resource_link") return { ...block, ...said };
  const { icons, size } = given;
  const shown = Array.isArray(icons) ? saidIn({ icons }, redactor) : undefined;
  return { ...block, ...said, ...shown, ...(typeof size === "number" ? { size } : {}) };
}

/** What a server says to clients, without secrets; `undefined` if it is no object, or too long. */
function saidIn(value: unknown, redactor: Values): Record<string, unknown> | undefined {
  if (!isObject(value) || writeJson(value).length > MAX_SAID_CHARS) return undefined;
  return redactor.redactValue(value).value as Record<string, unknown>;
}

/** Whether clients accept the annotations of a block (MCP 2025-11-25, "Annotations"). */
function isAnnotations({ audience, priority, lastModified }: Record<string, unknown>): boolean {
  return (
    (audience === undefined ||
      (Array.isArray(audience) && audience.every((each) => each === "user" || each === "assistant"))) &&
    (priority === undefined || (typeof priority === "number" && priority >= 0 && priority <= 1)) &&
    (lastModified === undefined ||
      (typeof lastModified === "string" && !Number.isNaN(Date.parse(lastModified))))
  );
}

function boundBlocks(content: readonly unknown[]): EmittedBlock[] {
  let bytes = 0;
  const blocks = content.slice(0, MAX_EMITTED_BLOCKS).map((each): EmittedBlock => {
    const block = readBlock(each);
    if (block === undefined) return { type: "text", text: writeJson(noteMediaIn(each)) ?? "null" };
    if (block.type === "text") return block;
    bytes += writeJson(block).length;
    return bytes <= MAX_EMITTED_BYTES
      ? block
      : { type: "text", text: `[${describeEmitted(block).what}, left out: too large]` };
  });
  const more = content.length - blocks.length;
  return more <= 0 ? blocks : [...blocks, { type: "text", text: `[${more} more blocks left out]` }];
}

/** A block with only the members that are handed on; `undefined` for a type that MCP does not define. */
function readBlock(value: unknown): EmittedBlock | undefined {
  if (!isObject(value)) return undefined;
  const { type } = value;
  const members = typeof type === "string" && Object.hasOwn(MEMBERS, type) ? MEMBERS[type] : undefined;
  if (members === undefined) return undefined;
  const picked: Record<string, unknown> = { type, ...pick(value, members) };
  if (isObject(picked.resource)) picked.resource = pick(picked.resource, RESOURCE_MEMBERS);
  const parsed = EmittedBlock.safeParse(picked);
  return parsed.success ? parsed.data : undefined;
}

function pick(value: Record<string, unknown>, members: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    members
      .filter((name) => value[name] !== undefined && value[name] !== null)
      .map((name) => [name, value[name]]),
  );
}
