import { beforeAll, vi } from "vitest";
import { SandboxConnection } from "../../../broker/sandbox-connection.ts";
import { TimeLimit } from "../../../execution/time-limit.ts";

/** Longer than a trace takes on any machine. */
const PATIENCE_MS = 60_000;

/** Has rehearsals be in the own sandbox of a run however slow the machine is: no time counts as spent, and traces are waited for. */
export function useNoHaste(): void {
  beforeAll(() => {
    const { requestTrace } = SandboxConnection.prototype;
    const spied = [
      vi.spyOn(TimeLimit.prototype, "spentMs", "get").mockReturnValue(0),
      vi.spyOn(SandboxConnection.prototype, "requestTrace").mockImplementation(function (
        this: SandboxConnection,
      ) {
        return requestTrace.call(this, PATIENCE_MS);
      }),
    ];
    return () => {
      for (const each of spied) each.mockRestore();
    };
  });
}
