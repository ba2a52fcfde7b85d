/**
 * Which tools count as destructive. `annotated`: those with the hint. `destructive`: also those without the hint, unless
 * they are annotated as read-only, which is how MCP reads annotations (2025-11-25, "ToolAnnotations").
 */
export type DefaultApproval = "annotated" | "destructive";

/** Whether a tool with these annotations counts as destructive. A hint that is no boolean is not trusted. */
export function isDestructive(
  annotations: Readonly<Record<string, unknown>> | undefined,
  byDefault: DefaultApproval,
): boolean {
  const hint = (name: string): unknown =>
    annotations !== undefined && Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  const destructive = hint("destructiveHint");
  const readOnly = hint("readOnlyHint");
  if ([destructive, readOnly].some((value) => value !== undefined && typeof value !== "boolean")) return true;
  if (destructive === true) return true;
  return byDefault === "destructive" && destructive !== false && readOnly !== true;
}
