import { buildFailure, type Failure } from "../protocol/failure.ts";
import { bundleProgram } from "./bundle.ts";
import type { Program } from "./program.ts";
import type { CheckedModules, TypeChecker } from "./type-check.ts";

export type TypecheckMode = "error" | "warn" | "off";

export type Prepared = { ok: true; bundle: string; warning?: string } | { ok: false; error: Failure };

/**
 * Bundles a program and checks its types at the same time. A program that cannot be bundled is told so; whether its types
 * are right is then no longer the question.
 */
export async function prepareProgram(
  program: Program,
  modules: CheckedModules,
  checker: TypeChecker | undefined,
  mode: TypecheckMode,
): Promise<Prepared> {
  const checking = mode === "off" ? undefined : checker?.check(program, modules);
  checking?.catch(() => {});
  const bundled = await bundleProgram(program, modules);
  if (!bundled.ok) return { ok: false, error: buildFailure("BundleError", bundled.message) };
  const checked = await checking;
  const { bundle } = bundled;
  if (checked?.kind !== "errors") return { ok: true, bundle };
  if (mode === "warn") return { ok: true, bundle, warning: checked.message };
  return { ok: false, error: buildFailure("TypeCheckError", checked.message) };
}
