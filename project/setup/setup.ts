/** What `ptc setup` finds out before it asks: what this machine is, whether an engine with gVisor is here, and what is to be done. */
import { oneLine } from "../../base/visible-text.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { setupFiles } from "../../system/package.ts";
import { examineEngine } from "../doctor/examine.ts";
import { describeMachine, type Machine } from "./machine.ts";
import { planSetup, planUndo, type SetupPlan } from "./plan-setup.ts";

export type { SetupPlan, SetupStep } from "./plan-setup.ts";

interface Place {
  env: EnvironmentVariables;
  /** Absolute. */
  cwd: string;
}

export interface Prepared {
  /** What the machine is, in one line. */
  machine: string;
  /** What says that nothing is to be done; the plan is empty then. */
  ready: string | undefined;
  plan: SetupPlan;
}

/** Looks at this machine, and changes nothing. @param isUndo whether what was set up shall be taken back. */
export async function prepareSetup(place: Place, { isUndo }: { isUndo: boolean }): Promise<Prepared> {
  const machine = describeMachine(place.env);
  const named = titleOf(machine);
  if (isUndo) return { machine: named, ready: undefined, plan: planUndo(machine, setupFiles) };
  const ready = await findEngine(place);
  const plan = ready === undefined ? planSetup(machine, setupFiles) : { steps: [], advice: [] };
  return { machine: named, ready, plan };
}

/** What says that programs can run in gVisor here; `undefined` where they cannot. An image may still be missing. */
export async function findEngine({ env, cwd }: Place): Promise<string | undefined> {
  const configuration = await loadConfiguration({ env, cwd });
  const { engine } = configuration.sandbox;
  if (engine === "kubernetes") return "programs run in the cluster that ptc.yaml names";
  // Who has chosen interpreters for now may want gVisor all the same.
  const sandbox = { ...configuration.sandbox, engine: engine === "wasm" ? ("auto" as const) : engine };
  const wrong = await examineEngine({ ...configuration, sandbox }, { env });
  return wrong === undefined || wrong.part === "image" ? "an engine with gVisor is here" : undefined;
}

function titleOf({ platform, distribution, isWsl, isRoot }: Machine): string {
  const system = { darwin: "macOS", win32: "Windows" }[platform as string] ?? distribution?.title ?? platform;
  return oneLine(`${system}${isWsl ? " in WSL" : ""}, ${isRoot ? "as root" : "as an ordinary user"}`);
}
