import { collectEarlier } from "../prepare/called-programs.ts";
import type { FailureReason } from "../prepare/failure-reason.ts";
import type { Preparation, TypecheckOptions } from "../prepare/language.ts";
import type { ModuleSource } from "../prepare/module-source.ts";
import type { Program } from "../program.ts";
import { duringPhase, type OnPhase } from "../run-phase.ts";
import { bundleProgram } from "./bundling/bundle.ts";
import { calledPrograms } from "./named-programs.ts";
import type { TypeChecker } from "./type-check/type-check.ts";

/**
 * Bundles a program and checks its types at the same time. When only its imports are wrong, the failure has the messages of
 * both. When its text is wrong, the type check is ignored.
 */
export async function prepareTypeScript(
  program: Program,
  modules: ModuleSource,
  typeChecker: TypeChecker,
  { mode, patienceMs }: TypecheckOptions,
  onPhase?: OnPhase,
  earlier?: readonly Program[],
): Promise<Preparation> {
  // The check is about tools, so a program that mentions none is not checked.
  const mentions = [program, ...(earlier ?? [])].some(({ code }) => mentionsTools(code));
  const checks = mode !== "off" && (mentions || program.savedAs !== undefined);
  const checking = checks
    ? duringPhase(onPhase, "type_check", () => typeChecker.check(program, modules, earlier, patienceMs))
    : undefined;
  checking?.catch(() => {});
  // Their functions are in the sandbox already. That they are loaded lets them begin.
  if (earlier !== undefined) await collectEarlier(earlier, modules, calledPrograms);
  const bundled = await duringPhase(onPhase, "bundle", () =>
    bundleProgram(program, modules, earlier !== undefined),
  );
  if (!bundled.ok && bundled.subject === "text") return fail("BundleError", bundled.message, bundled.reasons);
  const checked = await checking;
  const mistakes = checked?.kind === "errors" ? checked.message : undefined;
  if (!bundled.ok) {
    // The type check also reports missing exports, so the bundler's message would repeat them.
    const own = bundled.subject === "exports" && mistakes !== undefined ? [] : [bundled.message];
    return fail(
      "BundleError",
      [...own, ...(mistakes === undefined ? [] : [mistakes])].join("\n"),
      bundled.reasons,
    );
  }
  const { bundle } = bundled;
  if (checked?.kind === "unchecked") return { ok: true, bundle, unchecked: checked.reason };
  if (checked?.kind === "clean" && checked.hints.length > 0)
    return { ok: true, bundle, hints: checked.hints };
  if (mistakes === undefined) return { ok: true, bundle };
  if (mode === "warn") return { ok: true, bundle, warning: mistakes };
  return fail("TypeCheckError", mistakes);
}

function mentionsTools(code: string): boolean {
  return /servers\/|["'/]programs["'/]|mcp__|callTool/.test(code);
}

function fail(
  type: "BundleError" | "TypeCheckError",
  message: string,
  reasons: readonly FailureReason[] = [],
): Preparation {
  return { ok: false, type, message, reasons };
}
