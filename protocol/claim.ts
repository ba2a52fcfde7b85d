import * as z from "zod/mini";
import { Failure, type FailureType } from "./failure.ts";

/** The failures that a runner can know of. Only the host states the other types. */
const CLAIMABLE: ReadonlySet<FailureType> = new Set([
  "ScriptError",
  "ToolError",
  "ApprovalDenied",
  "OutputLimit",
  "ResultNotSerializable",
]);

/**
 * The one line on a container's stdout: what the runner says became of the program. `from` tells where its value comes
 * from: the program set it, its last console line is JSON, or it is its console text, which may be cut.
 */
export const Claim = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), data: z.unknown(), from: z.enum(["result", "line", "console"]) }),
  z.strictObject({ ok: z.literal(false), error: Failure }),
]);
export type ValueSource = Extract<Claim, { ok: true }>["from"];
export type Claim = z.infer<typeof Claim>;

/** Reads a runner's line; `undefined` when it is not one. */
export function parseClaim(value: unknown): Claim | undefined {
  const parsed = Claim.safeParse(value);
  if (!parsed.success) return undefined;
  if (!parsed.data.ok && !CLAIMABLE.has(parsed.data.error.type)) return undefined;
  return parsed.data;
}
