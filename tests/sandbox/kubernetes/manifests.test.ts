import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { LAUNCHER_PORT } from "../../../protocol/launcher.ts";
import { programManifests } from "../../../sandbox/kubernetes/manifests.ts";
import { programPodSpec } from "../../../sandbox/kubernetes/program-pod.ts";

const POD = { image: "ptc-runner@sha256:1", runtimeClass: "gvisor", certificates: "keys" };
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };

const requested = (runners: ("javascript" | "python")[]) =>
  programManifests({
    ...{ ...POD, namespace: "programs", template: "ptc", runners, starts: RUNNER_STARTS },
    ...{ limits: LIMITS, replicas: 3 },
  });

const metadata = (name: string) => ({
  ...{ name, namespace: "programs" },
  labels: { "app.kubernetes.io/managed-by": "ptc" },
});

test("each runner has a template and a pool of pods that wait", () => {
  const manifests = requested(["javascript", "python"]);
  expect(manifests.slice(0, -1)).toEqual(
    (["javascript", "python"] as const).flatMap((runner) => [
      {
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxTemplate",
        metadata: metadata(`ptc-${runner}`),
        spec: {
          networkPolicyManagement: "Unmanaged",
          podTemplate: {
            metadata: { labels: { "app.kubernetes.io/name": "ptc-program" } },
            spec: programPodSpec({ ...POD, start: RUNNER_STARTS[runner], limits: LIMITS }),
          },
        },
      },
      {
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxWarmPool",
        metadata: metadata(`ptc-${runner}`),
        spec: { replicas: 3, sandboxTemplateRef: { name: `ptc-${runner}` } },
      },
    ]),
  );
});

test("pods of programs send nothing, and are reached by pods of ptc alone, at the launcher's port", () => {
  expect(requested(["javascript"]).at(-1)).toEqual({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadata("ptc-programs"),
    spec: {
      podSelector: { matchLabels: { "app.kubernetes.io/name": "ptc-program" } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        {
          from: [{ podSelector: { matchLabels: { "app.kubernetes.io/name": "ptc" } } }],
          ports: [{ protocol: "TCP", port: LAUNCHER_PORT }],
        },
      ],
    },
  });
});
