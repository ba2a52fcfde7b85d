import * as z from "zod/mini";
import { Failure, type FailureType } from "./failure.ts";

/** The types of failure that a runner can detect. Only the host reports the others. */
const CLAIMABLE: ReadonlySet<FailureType> = new Set([
  "ScriptError",
  "ToolError",
  "ApprovalDenied",
  "OutputLimit",
  "ResultNotSerializable",
]);

/**
 * The one line on a container's stdout, in which the runner claims how the program ended. `from` is the source of the value: the
 * program set it (`result`), its last console line is JSON (`line`), or it is the console text, possibly truncated (`console`).
 */
export const Claim = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), data: z.unknown(), from: z.enum(["result", "line", "console"]) }),
  z.strictObject({ ok: z.literal(false), error: Failure }),
]);
export type ValueSource = Extract<Claim, { ok: true }>["from"];
export type Claim = z.infer<typeof Claim>;

/** Parses a runner's line. Returns `undefined` when the value is not a valid claim. */
export function parseClaim(value: unknown): Claim | undefined {
  const parsed = Claim.safeParse(value);
  if (!parsed.success) return undefined;
  if (!parsed.data.ok && !CLAIMABLE.has(parsed.data.error.type)) return undefined;
  return parsed.data;
}
