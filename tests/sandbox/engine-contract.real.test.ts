import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../../sandbox/docker/docker-sandbox-engine.ts";
import { RunscEngine } from "../../sandbox/runsc/runsc-engine.ts";
import { runscFolders } from "../../sandbox/runsc/runsc-folders.ts";
import { describeEngine } from "./engine-contract.ts";
import { describeSandboxed } from "./in-sandbox.ts";

for (const channel of ["socket", "attached"] as const) {
  describeEngine(
    `of Docker, with the channel ${channel}`,
    () => {
      const folder = mkdtempSync(join(tmpdir(), "ptc-e-"));
      return {
        engine: new DockerSandboxEngine(new DockerEngine(), { folder, runners: RUNNER_STARTS, channel }),
        image: process.env.PTC_TEST_IMAGE ?? "ptc-runner",
        runtime: "runsc",
        close: () => rmSync(folder, { recursive: true, force: true }),
      };
    },
    describeSandboxed,
  );
}

for (const start of ["booted", "restored"] as const) {
  describeEngine(
    `without an engine, ${start}`,
    () => {
      // Its snapshots are its own, so that nothing is restored before this makes one.
      const base = mkdtempSync(join(tmpdir(), "ptc-e-"));
      const folder = join(base, "run");
      mkdirSync(folder);
      const { images } = runscFolders();
      return {
        engine: new RunscEngine({
          folder,
          runners: RUNNER_STARTS,
          folders: { images, snapshots: join(base, "snapshots") },
        }),
        image: process.env.PTC_TEST_IMAGE ?? "ptc-runner",
        runtime: "runsc",
        isRestored: start === "restored",
        close: () => rmSync(base, { recursive: true, force: true }),
      };
    },
    describeSandboxed,
  );
}
