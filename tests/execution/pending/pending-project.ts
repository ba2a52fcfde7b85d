import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Configuration } from "../../../configuration/configuration.ts";
import { PendingApprovals } from "../../../execution/pending/pending-approvals.ts";

/** A project without anything but what waits for approvals in it. */
export function pendingProject() {
  const directory = mkdtempSync(join(tmpdir(), "ptc-pending-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "state"), { mode: 0o700 });
  /** As one process would open it. */
  const open = (approvals: Partial<Configuration["approvals"]> = {}) =>
    new PendingApprovals({
      configuration: { directory, approvals: { require: "any", expireMs: 60_000, ...approvals } as never },
      env: { XDG_STATE_HOME: join(directory, "state") },
      clock: { wallMs: () => Date.now() },
    });
  return { open, file: join(directory, ".ptc/approvals.db") };
}
