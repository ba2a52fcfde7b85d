import type { Redactor } from "../broker/redaction.ts";
import { buildFailure, type Failure } from "../protocol/failure.ts";
import { bundleProgram } from "./bundle.ts";
import type { Program } from "./program.ts";
import type { CheckedModules, TypeChecker } from "./type-check.ts";

export type TypecheckMode = "error" | "warn" | "off";

export type Prepared = { ok: true; bundle: string; warning?: string } | { ok: false; error: Failure };

interface PreparationParts {
  modules: CheckedModules;
  typeChecker?: TypeChecker | undefined;
  redactor: Redactor;
}

/**
 * Bundles a program and checks its types at the same time. A program that cannot be bundled is told so; whether its types
 * are right is then no longer the question.
 */
export async function prepareProgram(
  program: Program,
  parts: PreparationParts,
  mode: TypecheckMode,
): Promise<Prepared> {
  const { modules, typeChecker, redactor } = parts;
  // Messages quote the program, and are cut to size when they become failures.
  const redact = (text: string) => redactor.redactText(text).value;
  const checking = mode === "off" ? undefined : typeChecker?.check(program, modules);
  checking?.catch(() => {});
  const bundled = await bundleProgram(program, modules);
  if (!bundled.ok) return { ok: false, error: buildFailure("BundleError", redact(bundled.message)) };
  const checked = await checking;
  const { bundle } = bundled;
  if (checked?.kind !== "errors") return { ok: true, bundle };
  const message = redact(checked.message);
  if (mode === "warn") return { ok: true, bundle, warning: message };
  return { ok: false, error: buildFailure("TypeCheckError", message) };
}
