import assert from "node:assert/strict";
import { ForeignJsonError, parseForeignJson } from "../../../base/json.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import {
  type Line,
  MessageLines,
  MessageOutline,
  parseClientMessage,
} from "../../../server/mcp/stdio-server-transport.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { deepJson, hostileJson, hostileObject, hostileString } from "../hostile/hostile-json.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import type { Random } from "../random.ts";

const MAX_BYTES = 2_048;

/** What an MCP client writes to a ptc that serves, from the bytes to messages and refusals. */
export const target = fuzzTarget({
  name: "client-messages",
  iterations: 330,
  generate: (random) => random.list(random.size(8), () => clientLine(random)).join("\n"),
  check(input, random) {
    const whole = lines([input]);
    const inPieces = lines(random.chunks(input));
    assert.deepEqual(inPieces.map(shape), whole.map(shape), "lines depend on the pieces");
    for (const line of whole) checkLine(line);
    for (const line of input.toString("latin1").split("\n"))
      checkOutline(Buffer.from(line, "latin1"), random);
  },
});

function lines(chunks: readonly Buffer[]): Line[] {
  const split = new MessageLines(MAX_BYTES);
  return [...chunks.flatMap((chunk) => [...split.push(chunk)]), ...split.end()];
}

function shape(line: Line): unknown {
  return line.kind === "line" ? line.bytes.toString("latin1") : line.outline.members();
}

function checkLine(line: Line): void {
  if (line.kind === "line") assert.ok(line.bytes.length <= MAX_BYTES, "a line is longer than is held");
  const read = parseClientMessage(line, { maxBytes: MAX_BYTES }, isMessage);
  if (read.kind === "message") canonicalJson(read.message);
  if (read.kind !== "refused") return;
  const { reason, code, id } = read.refusal;
  assert.match(reason, /^.{1,300}$/u, "a reason is one short line");
  assert.ok([-32700, -32600].includes(code));
  assert.ok(id === null || typeof id === "string" || typeof id === "number");
  // It is written into the answer.
  canonicalJson({ id });
}

function isMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "jsonrpc" in value && value.jsonrpc === "2.0";
}

/** An outline says of the top level what the parser does, and nothing of what that refuses. */
function checkOutline(line: Buffer, random: Random): void {
  const outline = new MessageOutline();
  for (const chunk of random.chunks(line)) outline.push(chunk);
  const members = outline.members();
  let value: unknown;
  try {
    value = parseForeignJson(line, { maxBytes: 60_000, maxDepth: 1_000 });
  } catch (error) {
    assert.ok(error instanceof ForeignJsonError);
    return;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const seen = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof member === "object" && member !== null) assert.deepEqual(seen, {});
    else assert.deepEqual(seen, member);
  }
}

function clientLine(random: Random): string {
  if (random.chance(0.1)) return hostileText(random).replaceAll("\n", "");
  if (random.chance(0.05)) return random.pick(["", " ", "\r", "\t"]);
  if (random.chance(0.05)) return `[${clientMessage(random)},${clientMessage(random)}]`;
  return clientMessage(random);
}

function clientMessage(random: Random): string {
  const data = random.chance(0.1)
    ? deepJson(random, random.pick([100, 128, 140, 2_000]))
    : hostileJson(random);
  const args = hostileObject(random, [
    ["code", hostileString(random, random.chance(0.1) ? "x".repeat(3_000) : hostileText(random))],
    ["data", data],
    ["timeout_seconds", hostileJson(random, { levels: 0 })],
  ]);
  const params = hostileObject(random, [
    [
      "name",
      random.pick(['"execute_program"', '"search_tools"', hostileString(random, hostileText(random))]),
    ],
    ["arguments", args],
  ]);
  const method = random.pick([
    "tools/call",
    "tools/list",
    "initialize",
    "notifications/cancelled",
    "ping",
    "__proto__",
  ]);
  return hostileObject(random, [
    ["jsonrpc", '"2.0"'],
    ["id", random.chance(0.8) ? String(random.below(100)) : hostileJson(random, { levels: 1 })],
    ["method", JSON.stringify(method)],
    ["params", params],
  ]);
}
