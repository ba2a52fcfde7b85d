import { encodeFrame, encodeJson, FrameError } from "../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";
import type { Call, ReplyMessage } from "../protocol/messages.ts";
import type { CallAnswer } from "./dispatcher.ts";
import { takeText } from "./normalize-result.ts";

/** The frame of a reply; of one that is too large, that of a failure that says so. */
export function encodeReply(call: Call, reply: ReplyMessage): Buffer {
  try {
    // To write a large value again would take longer than its way into the sandbox.
    const text = reply.ok && reply.raw === undefined ? takeText(reply.data) : undefined;
    return text === undefined
      ? encodeFrame(reply, MAX_REPLY_FRAME_BYTES)
      : encodeJson(`{"type":"reply","id":${reply.id},"ok":true,"data":${text}}`, MAX_REPLY_FRAME_BYTES);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const message = `'${call.tool}' answered with too much: ${error.message}; ask it for less`;
    const refused = { type: "ToolError", server: "", tool: call.tool, message, retryable: false } as const;
    return encodeFrame({ type: "reply", id: call.id, ok: false, error: refused }, MAX_REPLY_FRAME_BYTES);
  }
}

/** The answer to a call that ptc itself does not make. */
export function failedCall(call: Call, message: string): CallAnswer {
  return {
    ok: false,
    error: { type: "ToolError", server: "", tool: call.tool, message, retryable: false },
    bytes: 0,
  };
}
