import { MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";
import { encodeFrame, encodeJson, encodeText, FrameError } from "../protocol/wire/frames.ts";
import { LARGE_TEXT_CHARS, liftTexts } from "../protocol/wire/large-texts.ts";
import type { Call, ReplyMessage } from "../protocol/wire/messages.ts";
import type { CallAnswer } from "./dispatcher.ts";
import { takeText } from "./normalize-result.ts";

/**
 * The frames of a reply, which are sent one right after the other; of one that is too large, that of a failure that says so.
 *
 * @param bytes the size of the result.
 */
export function encodeReply(call: Call, reply: ReplyMessage, bytes: number): Buffer[] {
  try {
    const isLarge = bytes >= LARGE_TEXT_CHARS && reply.ok && reply.raw === undefined;
    return (isLarge ? encodeLarge(reply) : undefined) ?? [encodeFrame(reply, MAX_REPLY_FRAME_BYTES)];
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const message = `the call was made: '${call.tool}' answered with too much: ${error.message}; ask it for less`;
    const refused = { type: "ToolError", server: "", tool: call.tool, message, retryable: false } as const;
    return [encodeFrame({ type: "reply", id: call.id, ok: false, error: refused }, MAX_REPLY_FRAME_BYTES)];
  }
}

/** To write a large value again would take longer than its way into the sandbox. */
function encodeLarge(reply: ReplyMessage & { ok: true }): Buffer[] | undefined {
  const lifted = liftTexts(reply.data);
  if (lifted !== undefined) {
    const { value, places, texts } = lifted;
    const followed: ReplyMessage = { ...reply, data: value, texts: places };
    const frames = [encodeFrame(followed, MAX_REPLY_FRAME_BYTES), ...texts.map(encodeText)];
    const length = frames.reduce((sum, frame) => sum + frame.length, 0);
    if (length <= MAX_REPLY_FRAME_BYTES) return frames;
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${MAX_REPLY_FRAME_BYTES}`);
  }
  const text = takeText(reply.data);
  if (text === undefined) return undefined;
  return [encodeJson(`{"type":"reply","id":${reply.id},"ok":true,"data":${text}}`, MAX_REPLY_FRAME_BYTES)];
}

/** The answer to a call that ptc itself does not make. */
export function failedCall(call: Call, message: string): CallAnswer {
  return {
    ok: false,
    error: { type: "ToolError", server: "", tool: call.tool, message, retryable: false },
    bytes: 0,
  };
}
