export type SandboxErrorCode =
  | "engine_unreachable"
  | "runtime_missing"
  | "image_missing"
  | "start_failed"
  | "wall_broken"
  | "cancelled"
  | "base_unavailable"
  | "build_failed";

/** A sandbox cannot be started or used on this host. The message says what to do about it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
