/** The messages from a command to a background host. Only the host parses them, so that no command has to load the parser. */
import * as z from "zod";
import { SIGNALS } from "../surroundings.ts";

const CallersStream = z.object({ isTTY: z.boolean(), columns: z.number().optional() });

const CallerHello = z.object({
  kind: z.literal("hello"),
  /** A secret that proves that the caller can read the user's private files. */
  token: z.string(),
  /** The ptc and the Node.js of the caller. */
  build: z.string(),
  /** The digest of the configuration file as the caller sees it. */
  fileDigest: z.string(),
  /** `command` asks the host to run `argv`; `status` and `stop` concern the host itself. */
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
  /** Bytes from stdin as Base64; null at its end. */
  z.object({ kind: z.literal("stdin"), bytes: z.string().nullable() }),
  /** The answer to `file`: the bytes as Base64, or the code of the error. */
  z.object({
    kind: z.literal("file"),
    id: z.number(),
    bytes: z.string().optional(),
    code: z.string().optional(),
  }),
  z.object({ kind: z.literal("resized"), stdout: z.number(), stderr: z.number() }),
]);
export type CallerMessage = z.infer<typeof CallerMessage>;

/** Reads what a caller sent; `undefined` for anything else. */
export function parseCallerMessage(message: unknown): CallerMessage | undefined {
  return CallerMessage.safeParse(message).data;
}
