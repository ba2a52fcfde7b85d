/**
 * What parses foreign input on the thread that serves, by the name of its target of `tests/fuzz/targets`, with the largest and the worst
 * inputs within its documented bounds.
 */
import { ForeignJsonError, parseForeignJson } from "../../base/json.ts";
import { LineSplitter } from "../../base/streams.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { oneLine } from "../../base/visible-text.ts";
import { renderApprovalOverview } from "../../broker/approvals/approval-overview.ts";
import { renderApprovalArguments, WHOLE } from "../../broker/approvals/approval-text.ts";
import { Conversation } from "../../broker/flow/conversation.ts";
import { RunFlow } from "../../broker/flow/run-flow.ts";
import { placesIn } from "../../broker/policy/value-lists.ts";
import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { ConsoleDecoder } from "../../protocol/console-stream.ts";
import { FrameDecoder, FrameError, parsePayload } from "../../protocol/frames.ts";
import { MAX_NESTING_DEPTH, MAX_VALUES } from "../../protocol/limits.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { worstJson, worstTexts } from "./worst-inputs.ts";

const MIB = 1024 * 1024;

/** One operation on one input. */
interface Operation {
  what: string;
  work: () => unknown;
}

/** The operations of a target, or why none of it is on the thread that serves, or held elsewhere. */
export type Parser = { operations: () => Operation[] } | { elsewhere: string };

const over = (inputs: Record<string, string>, work: (input: string) => unknown): Operation[] =>
  Object.entries(inputs).map(([what, input]) => ({
    what,
    work: () => {
      try {
        work(input);
      } catch (error) {
        if (!(error instanceof ForeignJsonError || error instanceof FrameError)) throw error;
      }
    },
  }));

const LIMITS = { maxBytes: 8 * MIB, maxDepth: MAX_NESTING_DEPTH, maxValues: MAX_VALUES };
const REDACTOR = new Redactor(["s3cr3t-Token-value", "an0ther/Secret+value="], ["s3cr3t-Token-value"]);
/** The text of one chunk of a socket. */
const CHUNK = 64 * 1024;

const MANY_ARGUMENTS = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i]));

/** A text that the user said and a tool answered, sent to another tool and shown to the model. */
async function traceOrigins(text: string): Promise<void> {
  const conversation = new Conversation();
  conversation.say(text);
  const run = new RunFlow({ conversation, runId: "1", isSticky: true, program: ["x"] });
  run.answered({ tool: "t", server: "s", seq: 1 }, ["l"], undefined, [{ a: text }]);
  await run.follow({ tool: "t", seq: 2, arguments: { a: `${text}x` } });
  await run.show([text]);
}

const distinct = (length: number, word: (index: number) => string, between: string) =>
  Array.from({ length }, (_, i) => word(i)).join(between);
/** Texts as long as a value may be that is traced whole, whose words are all different. */
const DISTINCT_WORDS = {
  "words that are all different": distinct(25_000, (i) => `w${i.toString(36)}`, " "),
  "ideographs that are all different": distinct(20_000, (i) => String.fromCharCode(0x4e00 + i), ""),
};

/** A program computes a text that no other explains, and a model is shown it. */
async function showComputed(text: string): Promise<void> {
  const run = new RunFlow({ conversation: new Conversation(), runId: "1", isSticky: true, program: ["x"] });
  run.answered({ tool: "t", server: "s", seq: 1 }, ["l"], undefined, [{ a: "secret" }]);
  await run.show([text]);
}

/** A tool answers the same again and again, and another tool is sent it. */
async function traceRepeatedAnswer(text: string, labels: readonly string[]): Promise<void> {
  const run = new RunFlow({ conversation: new Conversation(), runId: "1", isSticky: true, program: ["x"] });
  for (let seq = 1; seq <= 20; seq++)
    run.answered({ tool: "t", server: "s", seq }, labels, undefined, [text]);
  await run.follow({ tool: "t", seq: 21, arguments: { a: text } });
}

/** The user said signs again and again, and a tool is sent fewer of them. */
async function traceSaidSigns(sign: string): Promise<void> {
  const conversation = new Conversation();
  conversation.say(sign.repeat(200_000));
  const run = new RunFlow({ conversation, runId: "1", isSticky: true, program: ["x"] });
  await run.follow({ tool: "t", seq: 1, arguments: { a: sign.repeat(100_000) } });
}

export const PARSERS: Readonly<Record<string, Parser>> = {
  archive: { elsewhere: "one archived text is read at a time, and a text has the bounds of `frames`" },
  callbacks: { elsewhere: "`ptc login` listens for one answer, in a process that serves nobody" },
  claims: { operations: () => over(worstTexts(256 * 1024), (text) => oneLine(text, 4_000)) },
  "client-messages": { operations: () => over(worstJson(MIB), (json) => parseForeignJson(json, LIMITS)) },
  configuration: { elsewhere: "ptc.yaml is its operator's" },
  console: {
    operations: () => over(worstTexts(CHUNK), (text) => new ConsoleDecoder(MIB).push(Buffer.from(text))),
  },
  definitions: {
    elsewhere: "the list of a server is bounded by its message, and held with the OpenAPI descriptions",
  },
  flow: { elsewhere: "whole programs that try to launder a value; following it is held by `value-origins`" },
  frames: {
    operations: () => [
      ...over(worstJson(MIB), (json) => parsePayload(Buffer.from(json), MAX_NESTING_DEPTH)),
      ...over(worstTexts(CHUNK), (text) => new FrameDecoder(16 * MIB).push(Buffer.from(text))),
    ],
  },
  "http-server": {
    operations: () => over(worstTexts(CHUNK), (text) => new LineSplitter(MIB).push(Buffer.from(text))),
  },
  "imported-servers": { elsewhere: "`ptc import` reads files of clients, in a process that serves nobody" },
  json: {
    operations: () => over(worstJson(2 * MIB), (json) => parseForeignJson(json, LIMITS)),
  },
  names: {
    operations: () => [
      {
        what: "ten thousand names that become one",
        work: () =>
          assignIdentifiers(Array.from({ length: 10_000 }, (_, i) => `a${"-".repeat(i % 50)}b${i}`)),
      },
    ],
  },
  openapi: { elsewhere: "a description is held by the tests of its own (tests/upstream/openapi)" },
  redaction: { operations: () => over(worstTexts(256 * 1024), (text) => REDACTOR.redactText(text)) },
  "relayed-frames": { elsewhere: "the frames of `frames` in the pieces of a guard" },
  runs: { elsewhere: "a run is made of what the other targets are about" },
  schema: { elsewhere: "what is not cheap is checked in threads and processes (tests/broker/schemas)" },
  series: { elsewhere: "a trace has the bounds of `frames`, and 256 KiB for each of its series" },
  "server-lines": {
    operations: () => over(worstTexts(CHUNK), (text) => new LineSplitter(MIB).push(Buffer.from(text))),
  },
  session: { elsewhere: "a session reads the frames of `frames`" },
  "terminal-text": {
    operations: () => [
      ...over(worstTexts(100_000), (text) => unmistakableLine(text)),
      ...over(worstTexts(MIB), (text) => renderApprovalArguments({ a: text }, WHOLE)),
      ...over(worstTexts(MIB), (text) => renderApprovalOverview("t", { a: text })),
      ...over(worstTexts(MIB), (text) => placesIn({ a: text }, 5_000)),
      {
        what: "many arguments",
        work: () => renderApprovalOverview("t", MANY_ARGUMENTS),
      },
    ],
  },
  "tool-results": { operations: () => over(worstJson(MIB), (json) => parseForeignJson(json, LIMITS)) },
  "value-origins": {
    operations: () => [
      ...Object.entries(worstTexts(CHUNK)).map(([what, text]) => ({ what, work: () => traceOrigins(text) })),
      ...Object.entries(DISTINCT_WORDS).flatMap(([what, text]) => [
        { what: `${what}, computed and shown`, work: () => showComputed(text) },
        { what: `${what}, answered again and again`, work: () => traceRepeatedAnswer(text, []) },
        {
          what: `${what}, answered with labels again and again`,
          work: () => traceRepeatedAnswer(text, ["l"]),
        },
      ]),
      { what: "signs that the user said more of", work: () => traceSaidSigns("(") },
    ],
  },
};
