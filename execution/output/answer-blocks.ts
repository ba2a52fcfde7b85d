import { isObject, writeJson } from "../../base/json.ts";
import { isFailure } from "../../broker/normalize-result.ts";
import { EmittedBlock, MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } from "../../protocol/emitted.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { describeEmitted, redactEmitted } from "./emitted-blocks.ts";
import { noteMediaIn } from "./media-notes.ts";

/** A tool's answer as it can be handed on to a client (MCP 2025-11-25, "Tool Result"), without secrets. */
export interface ToolAnswer {
  /** Its content. A line of text replaces each block that MCP does not define, or that exceeds what a program may emit. */
  blocks: readonly EmittedBlock[];
  structuredContent: Record<string, unknown> | undefined;
  /** Whether the server says that its tool has failed. */
  isFailure: boolean;
  /** Whether `structuredContent` is as the server gave it. */
  isWhole: boolean;
}

/** The members that are handed on, by type of block. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource: ["resource"],
  resource_link: ["uri", "name", "title", "description", "mimeType"],
};
const RESOURCE_MEMBERS = ["uri", "mimeType", "text", "blob"];

/** Reads a server's answer as far as a client can use it. */
export function readAnswer(raw: unknown, redactor: Pick<Redactor, "redactText" | "redactValue">): ToolAnswer {
  const result = isObject(raw) ? raw : {};
  const { content, structuredContent: structured } = result;
  const failed = isFailure(result);
  const { blocks } = redactEmitted(boundBlocks(Array.isArray(content) ? content : []), redactor);
  if (!isObject(structured))
    return { blocks, structuredContent: undefined, isFailure: failed, isWhole: true };
  const { value, count } = redactor.redactValue(structured);
  return {
    blocks,
    structuredContent: value as Record<string, unknown>,
    isFailure: failed,
    isWhole: count === 0,
  };
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
