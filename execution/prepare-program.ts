import type { Redactor } from "../broker/redaction.ts";
import { buildFailure, type Failure } from "../protocol/failure.ts";
import { bundleProgram } from "./bundle.ts";
import type { Program } from "./program.ts";
import { withoutFences } from "./program-text.ts";
import type { CheckedModules, TypeChecker } from "./type-check.ts";

export type TypecheckMode = "error" | "warn" | "off";

export type Prepared = { ok: true; bundle: string; warning?: string } | { ok: false; error: Failure };

interface PreparationParts {
  modules: CheckedModules;
  typeChecker?: TypeChecker | undefined;
  redactor: Redactor;
}

/**
 * Bundles a program and checks its types at the same time. Of a program that cannot be bundled for what it imports, both
 * are told what they found; of one whose text is wrong, the types are no longer the question.
 */
export async function prepareProgram(
  program: Program,
  parts: PreparationParts,
  mode: TypecheckMode,
): Promise<Prepared> {
  const { modules, typeChecker, redactor } = parts;
  const read = { ...program, code: withoutFences(program.code) };
  // Messages quote the program, and are cut to size when they become failures.
  const redact = (text: string) => redactor.redactText(text).value;
  // Without a tool there is nothing that a mistake could do, or that generated types could say of it.
  const checks = mode !== "off" && mentionsTools(read.code);
  const checking = checks ? typeChecker?.check(read, modules) : undefined;
  checking?.catch(() => {});
  const bundled = await bundleProgram(read, modules);
  if (!bundled.ok && bundled.reason === "text") return fail("BundleError", redact(bundled.message));
  const checked = await checking;
  const mistakes = checked?.kind === "errors" ? redact(checked.message) : undefined;
  if (!bundled.ok) {
    // The check finds the same exports missing, and whatever else is wrong.
    const own = bundled.reason === "exports" && mistakes !== undefined ? [] : [redact(bundled.message)];
    return fail("BundleError", [...own, ...(mistakes === undefined ? [] : [mistakes])].join("\n"));
  }
  const { bundle } = bundled;
  if (mistakes === undefined) return { ok: true, bundle };
  if (mode === "warn") return { ok: true, bundle, warning: mistakes };
  return fail("TypeCheckError", mistakes);
}

function mentionsTools(code: string): boolean {
  return /servers\/|mcp__|callTool/.test(code);
}

function fail(type: "BundleError" | "TypeCheckError", message: string): Prepared {
  return { ok: false, error: buildFailure(type, message) };
}
