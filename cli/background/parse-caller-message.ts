import * as z from "zod";
import { SIGNALS } from "../surroundings.ts";

const CallersStream = z.object({ isTTY: z.boolean(), columns: z.number().optional() });

const HelloMessage = z.object({
  kind: z.literal("hello"),
  token: z.string(),
  build: z.string(),
  fileDigest: z.string(),
  wants: z.enum(["command", "status", "stop"]),
  argv: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string(),
  stdin: CallersStream,
  stdout: CallersStream,
  stderr: CallersStream,
});

const ParsedCallerMessage = z.discriminatedUnion("kind", [
  HelloMessage,
  z.object({ kind: z.literal("signal"), signal: z.enum(SIGNALS) }),
  z.object({ kind: z.literal("stdin"), bytes: z.string().nullable() }),
  z.object({
    kind: z.literal("file"),
    id: z.number(),
    bytes: z.string().optional(),
    code: z.string().optional(),
  }),
  z.object({ kind: z.literal("resized"), stdout: z.number(), stderr: z.number() }),
]);
export type ParsedCallerMessage = z.infer<typeof ParsedCallerMessage>;

/** Reads what a caller sent; `undefined` for anything else. */
export function parseCallerMessage(message: unknown): ParsedCallerMessage | undefined {
  return ParsedCallerMessage.safeParse(message).data;
}
