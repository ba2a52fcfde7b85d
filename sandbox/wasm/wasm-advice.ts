import { type EngineAdvice, WALLS, type WallName } from "../sandbox-profile.ts";

const STRONGER = "use an engine with gVisor: `sandbox.engine: docker` or `runsc` (docs/engines.md)";
const REPORT = "report this: it is a fault of ptc";

/** What to do if a wall does not hold for programs in an interpreter. */
export const WASM_ADVICE: EngineAdvice = {
  missingRuntime: "build ptc first, with `node scripts/build.ts`",
  walls: {
    ...(Object.fromEntries(Object.keys(WALLS).map((name) => [name, REPORT])) as Record<WallName, string>),
    kernel: STRONGER,
    sentry: STRONGER,
    user: STRONGER,
    processors: STRONGER,
  },
};
