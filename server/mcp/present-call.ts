import { isObject, jsonLine, writeJson } from "../../base/json.ts";
import { visibleLines } from "../../base/visible-text.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { messageOfCall } from "../../execution/call.ts";
import type { ToolAnswer } from "../../execution/output/answer-blocks.ts";
import type { ExecutedCall } from "../../execution/output/executed-run.ts";
import { headAndTail } from "../../execution/output/head-and-tail.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { Failure } from "../../protocol/failure.ts";
import { clientBlock, clientMeta, isView } from "../../tools/client-names.ts";
import type { DirectTool } from "../../tools/direct-tools.ts";
import { describeSuspension, describeWaiting, renderWarnings } from "./programs/program-reply.ts";
import { errorReply, type ProgramReply } from "./tools/reply.ts";

const DRIFTED = "Its definition has just been read again: inspect_tool shows it; then call it again.";
const RETURN_LESS = "A program (execute_program) can call it and return only what is needed.";

export interface Presenting {
  /** The tool as it was listed to the client. */
  listed: DirectTool;
  /** How many bytes of text are shown. */
  maxShownBytes: number;
  /** Why the listed output schema does not allow a value, in one line. */
  checkOutput: (value: unknown) => Promise<string | undefined>;
  /** Whether the tool has the definition that was listed. */
  isAsListed: boolean;
  /** Where questions are answered over HTTP. */
  answerAt?: string | undefined;
}

/**
 * The reply to a direct call: the tool's answer, as far as it may be shown. If an output schema was listed, a client checks
 * `structuredContent` against it, and refuses a result without it. The structured content is then whole, or the reply is an error with
 * the text.
 */
export async function presentCall(executed: ExecutedCall, presenting: Presenting): Promise<ProgramReply> {
  const { envelope, suspended } = executed;
  const _meta = { "ptc/envelope": envelope };
  if (suspended !== undefined) {
    const text = describeSuspension("[Call waits for an approval]", suspended, presenting.answerAt);
    return { ...errorReply(text), _meta: { ..._meta, "ptc/waiting": describeWaiting(suspended) } };
  }
  const reply = await present(executed, presenting);
  const said = presenting.listed.view && clientMeta(executed.answer?.meta, presenting.listed.view);
  const content = forClient(reply.content, presenting.listed);
  const whole = { ...reply, content, _meta: { ...said, ..._meta } };
  if (executed.warnings.length === 0 || reply.isError === true) return whole;
  const warned = { type: "text" as const, text: renderWarnings(executed.warnings) };
  return { ...whole, content: [...content, warned] };
}

/** The reply to a call of a method of the protocol, whose structured content is the method's answer. */
export function presentMethod(executed: ExecutedCall, answerAt: string | undefined): ProgramReply {
  const { envelope, suspended, answer, decision } = executed;
  const { result } = envelope;
  const _meta = { "ptc/envelope": envelope };
  if (suspended !== undefined)
    return { ...errorReply(describeSuspension("[Call waits for an approval]", suspended, answerAt)), _meta };
  if (result.ok) return { content: [], structuredContent: answer?.structuredContent ?? {}, _meta };
  const message = visibleLines(messageOfCall(result.error));
  return { ...errorReply(decision === "drifted" ? `${message}; try again` : message), _meta };
}

const NO_APPS = "[a view of an app, left out: `apps` is off for this server]";

/** Content as a client reads it: it can read every URI that it finds there, where resources of servers are offered. */
function forClient(content: ProgramReply["content"], { view }: DirectTool): ProgramReply["content"] {
  if (view === undefined) return content.map((block) => ({ ...block, _meta: undefined }));
  return content.map((block) => {
    const uri = block.type === "resource" ? block.resource.uri : block.type === "resource_link" && block.uri;
    if (!view.apps && isView(uri)) return { type: "text", text: NO_APPS };
    return clientBlock(block, view) as EmittedBlock;
  });
}

async function present(executed: ExecutedCall, presenting: Presenting): Promise<ProgramReply> {
  const { envelope, answer } = executed;
  const { result } = envelope;
  if (!result.ok) return presentFailure(executed, result.error, presenting);
  const { listed, maxShownBytes } = presenting;
  const isPromised = listed.definition.outputSchema !== undefined && listed.isLearned !== true;
  const { wholeResultJson: whole } = executed;
  if (whole !== undefined) {
    const bytes = Buffer.byteLength(whole);
    const text = headAndTail(whole, maxShownBytes, ({ from, to, of }) =>
      leftOut(envelope, to - from, of, from),
    );
    const why = `The call was made. Its result is too large to be shown (${bytes} bytes). ${RETURN_LESS}`;
    const media = (answer?.blocks ?? []).filter(({ type }) => type === "image" || type === "audio");
    const content: EmittedBlock[] = [{ type: "text", text }, ...media, { type: "text", text: why }];
    return {
      content,
      ...(isPromised ? { isError: true as const } : {}),
      ...(listed.isLearned === true ? { structuredContent: {} } : {}),
    };
  }
  const content = boundTexts(answer?.blocks ?? [], shownData(result.data), presenting);
  const structured = answer?.structuredContent;
  if (listed.isLearned === true) {
    const given = structured ?? structuredOf(result.data, answer);
    const differs = await presenting.checkOutput(given);
    const warned = differs === undefined ? [] : [{ type: "text" as const, text: `${DIFFERS}: ${differs}` }];
    return { content: [...content, ...warned], structuredContent: given };
  }
  if (!isPromised) return { content, ...(structured === undefined ? {} : { structuredContent: structured }) };
  const problem = executed.warnings[0] ?? (await whyNotPromised(answer, presenting));
  if (problem === undefined && structured !== undefined) return { content, structuredContent: structured };
  const why = `The call was made. Its result is not what the tool's output schema allows: ${problem}`;
  return { content: [...content, { type: "text", text: why }], isError: true };
}

/** The schema that results of a tool should match: of a learned one, what was seen, without what it allows beside. */
export function promisedOutput({ definition, isLearned }: DirectTool): Record<string, unknown> | undefined {
  const { outputSchema } = definition;
  if (outputSchema === undefined || isLearned !== true) return outputSchema;
  const { anyOf, ...rest } = outputSchema;
  return { ...rest, anyOf: Array.isArray(anyOf) ? anyOf.slice(0, 1) : [] };
}

const DIFFERS = "ptc: this result is not of the type that ptc has learned from earlier ones";

/** The data of a result as structured content, which clients require where an output schema is listed. */
function structuredOf(data: unknown, answer: ToolAnswer | undefined): Record<string, unknown> {
  const isOfBlocks = answer?.blocks.some(({ type }) => type !== "text") === true;
  if (isObject(data)) return data;
  return isOfBlocks ? {} : { result: data };
}

/** A failure in the server's words, or in ptc's words followed by the server's answer, if there is one. */
function presentFailure(
  { answer, decision }: ExecutedCall,
  error: Failure,
  presenting: Presenting,
): ProgramReply {
  const message = visibleLines(messageOfCall(error)).replace(
    " is not available in execute_program",
    " is not available",
  );
  if (answer?.isFailure === true)
    return { content: boundTexts(answer.blocks, message, presenting), isError: true };
  const said = error.type === "ToolError" ? message : `${error.type}: ${message}`;
  if (error.type === "OutputLimit") return errorReply(`The call was made. ${said}\n${RETURN_LESS}`);
  const reply = errorReply(decision === "drifted" ? `${said}\n${DRIFTED}` : said);
  if (answer === undefined || answer.blocks.length === 0) return reply;
  return { ...reply, content: [...reply.content, ...boundTexts(answer.blocks, "", presenting)] };
}

/** Why the structured content does not match the listed schema. The broker has checked it against the present schema. */
async function whyNotPromised(
  answer: ToolAnswer | undefined,
  { isAsListed, checkOutput }: Presenting,
): Promise<string | undefined> {
  if (answer?.structuredContent === undefined) return "it has no structured content";
  if (isAsListed && answer.isWhole) return undefined;
  return checkOutput(answer.structuredContent);
}

/** The blocks, if their texts are short enough to be shown. Otherwise one text replaces all text blocks. */
function boundTexts(
  blocks: readonly EmittedBlock[],
  instead: string,
  { maxShownBytes }: Presenting,
): EmittedBlock[] {
  const bytes = blocks.reduce((sum, block) => sum + textBytes(block), 0);
  if (blocks.length > 0 && bytes <= maxShownBytes) return [...blocks];
  const text = headAndTail(
    instead,
    maxShownBytes,
    ({ from, to, of }) => `[${to - from} of ${of} characters left out]`,
  );
  return [{ type: "text", text }, ...blocks.filter(({ type }) => type === "image" || type === "audio")];
}

function textBytes(block: EmittedBlock): number {
  if (block.type === "text") return Buffer.byteLength(block.text);
  return block.type === "image" || block.type === "audio" ? 0 : Buffer.byteLength(writeJson(block));
}

/** The reply to a direct call that continued as a program, because its question was answered later. */
export async function presentResumed(reply: ProgramReply, presenting: Presenting): Promise<ProgramReply> {
  const envelope = reply._meta?.["ptc/envelope"] as Envelope | undefined;
  if (reply.isError === true || envelope?.result.ok !== true || "structuredContent" in reply) return reply;
  if (presenting.listed.definition.outputSchema === undefined) return reply;
  if (presenting.listed.isLearned === true)
    return { ...reply, structuredContent: structuredOf(envelope.result.data, undefined) };
  // The program's value was unwrapped, but the listed schema describes the wrapper.
  const data =
    presenting.listed.tool.unwraps === true ? { result: envelope.result.data } : envelope.result.data;
  const exact = withExactNumbers(presenting.listed.definition.outputSchema, data);
  const problem = await presenting.checkOutput(exact);
  if (problem !== undefined) return { ...reply, isError: true };
  return { ...reply, structuredContent: exact as Record<string, unknown> };
}

function shownData(data: unknown): string {
  return typeof data === "string" ? data : jsonLine(data);
}

/** Says what is not shown, and how a model gets it. */
function leftOut({ run_id: run }: Envelope, chars: number, of: number, offset: number): string {
  return `[${chars} of ${of} characters left out: read_output ${JSON.stringify({ run, offset })}]`;
}
