import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import type { BoundClaim, Claims, Pod } from "../../../sandbox/kubernetes/claims.ts";
import { PodChannel } from "../../../sandbox/kubernetes/pod-channel.ts";
import { PodSandbox } from "../../../sandbox/kubernetes/pod-sandbox.ts";
import { programPodSpec } from "../../../sandbox/kubernetes/program-pod.ts";
import { keptOutput } from "../outputs.ts";

const POD: Pod = {
  metadata: { name: "pod-1", uid: "1" },
  spec: programPodSpec({
    ...{ image: `ptc-runner@sha256:${"ab".repeat(32)}`, runtimeClass: "gvisor" },
    ...{ start: RUNNER_STARTS.javascript, limits: { memoryMb: 512, cpus: 1, pids: 256 } },
  }),
};

test("a claim that is not ready any more ends no program whose pod runs, and its program when the pod has ended", async () => {
  let pod: Pod = { ...POD, status: { phase: "Running" } };
  let looks = 0;
  const [stream] = duplexPair();
  const claim = { name: "claim-1", lost: Promise.resolve(), remove: async () => {} } as unknown as BoundClaim;
  const claims = {
    findPod: async () => {
      looks++;
      return pod;
    },
  } as unknown as Claims;
  const sandbox = new PodSandbox({ claim, pod, claims }, new PodChannel(stream, keptOutput().output), stream);
  let hasEnded = false;
  void sandbox.exited.then(() => {
    hasEnded = true;
  });
  await expect.poll(() => looks).toBeGreaterThan(1);
  expect(hasEnded).toBe(false);
  expect(stream.destroyed).toBe(false);
  pod = {
    ...POD,
    status: {
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "OOMKilled" } } }],
    },
  };
  expect(await sandbox.exited).toEqual({ code: 137 });
  expect(stream.destroyed).toBe(true);
});
