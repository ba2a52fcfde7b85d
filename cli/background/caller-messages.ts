/** What a command sends to a background host. Only the host reads it, so that no command has to load what parses it. */
import * as z from "zod";
import { SIGNALS } from "../command.ts";

const CallersStream = z.object({ isTTY: z.boolean(), columns: z.number().optional() });

const CallerHello = z.object({
  kind: z.literal("hello"),
  /** What the caller knows because it may read the user's private files. */
  token: z.string(),
  /** The ptc and the Node.js of the caller. */
  build: z.string(),
  /** Of the configuration, as the caller sees the file. */
  fileDigest: z.string(),
  /** `command` has the host run `argv`; `status` and `stop` are about the host. */
  wants: z.enum(["command", "status", "stop"]),
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string().optional()),
  cwd: z.string(),
  stdin: CallersStream,
  stdout: CallersStream,
  stderr: CallersStream,
});
export type CallerHello = z.infer<typeof CallerHello>;

const CallerMessage = z.discriminatedUnion("kind", [
  CallerHello,
  z.object({ kind: z.literal("signal"), signal: z.enum(SIGNALS) }),
  /** What was read from stdin, as Base64; null at its end. */
  z.object({ kind: z.literal("stdin"), bytes: z.string().nullable() }),
  /** The answer to `file`: the bytes as Base64, or the code of the error. */
  z.object({
    ...{ kind: z.literal("file"), id: z.number() },
    ...{ bytes: z.string().optional(), code: z.string().optional() },
  }),
  z.object({ kind: z.literal("resized"), stdout: z.number(), stderr: z.number() }),
]);
export type CallerMessage = z.infer<typeof CallerMessage>;

/** Reads what a caller sent; `undefined` for anything else. */
export function parseCallerMessage(message: unknown): CallerMessage | undefined {
  return CallerMessage.safeParse(message).data;
}
