import { isObject } from "../base/json.ts";

/** How far a server says that a call has come (MCP 2025-11-25, "Progress"). A claim of the server's. */
export interface ProgressReport {
  progress: number;
  total?: number;
  message?: string;
}

/** Reads the parameters of a report; `undefined` where they hold none. */
export function parseProgress(params: unknown): ProgressReport | undefined {
  if (!isObject(params) || !isNumber(params.progress)) return undefined;
  const { progress, total, message } = params;
  return {
    progress,
    ...(isNumber(total) ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
