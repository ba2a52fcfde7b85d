import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { RUNNER_STARTS } from "../languages/languages.ts";
import { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../sandbox/docker/docker-sandbox-engine.ts";
import { SocketFolder } from "../sandbox/guard-channel.ts";
import { type Bench, type Measurement, percentile, ratio, show } from "./measurement.ts";
import {
  measureBrokeredCall,
  measureLargeResult,
  runInside,
  type SandboxedBench,
} from "./parts/brokered-call.ts";

/** Opens what measurements need to start sandboxes themselves, without `ptc`. */
export function openSandboxed({ folder, image }: Bench): SandboxedBench {
  const containers = new DockerEngine();
  const sockets = join(folder, "s");
  mkdirSync(sockets, { recursive: true });
  return {
    engine: new DockerSandboxEngine(containers, { folder: sockets, runners: RUNNER_STARTS }),
    containers,
    sockets: new SocketFolder(sockets),
    image,
  };
}

const ROUNDS = 15;

/** A trivial program inside a started sandbox, from sending it until its claim arrives. */
export const insideSandbox: Measurement = {
  name: "inside-sandbox",
  about: "a trivial program in a started sandbox, from sending it to its claim",
  async measure(bench: Bench) {
    const sandboxed = openSandboxed(bench);
    const times: number[] = [];
    for (let round = -2; round < bench.rounds(ROUNDS); round++) {
      const { tookMs } = await runInside(sandboxed, `globalThis.result = ${round};`);
      if (round >= 0) times.push(tookMs);
    }
    const name = "program sent to claim received, p50";
    return [{ name, value: percentile(times, 0.5), unit: "ms", bound: { atMost: 3 }, detail: show(times) }];
  },
};

/** A call inside a sandbox, and a large result. */
export const brokeredCall: Measurement = {
  name: "brokered-call",
  about: "a call and a result of 10 MB, against bare echoes over the same kind of socket",
  async measure(bench: Bench) {
    const sandboxed = openSandboxed(bench);
    return [ratio(await measureLargeResult(sandboxed)), ratio(await measureBrokeredCall(sandboxed))];
  },
};
