import { LAUNCHER_PORT } from "../../protocol/launcher.ts";
import type { RunnerName, RunnerStarts } from "../../protocol/runners.ts";
import type { SandboxLimits } from "../sandbox-profile.ts";
import { MANAGED } from "./owner-lease.ts";
import { type ProgramPod, programPodSpec } from "./program-pod.ts";

export interface ManifestRequest extends Omit<ProgramPod, "start" | "limits"> {
  namespace: string;
  /** What names begin with; `-` and the name of the runner follow. */
  template: string;
  runners: readonly RunnerName[];
  starts: RunnerStarts;
  limits: SandboxLimits;
  /** How many pods wait for each runner. */
  replicas: number;
}

const API = "extensions.agents.x-k8s.io/v1beta1";
/** The label of pods that programs run in. */
const PROGRAM = { "app.kubernetes.io/name": "ptc-program" };
/** The label of the pods of ptc itself, which the launchers take connections from. */
const HOST = { "app.kubernetes.io/name": "ptc" };

/** What a namespace needs so that ptc can claim pods there: a template and a pool for each runner, and no network for them. Pure. */
export function programManifests(request: ManifestRequest): object[] {
  const { namespace, template, runners, starts, limits, replicas, ...pod } = request;
  const metadata = (name: string) => ({ name, namespace, labels: MANAGED });
  return [
    ...runners.flatMap((runner) => [
      {
        apiVersion: API,
        kind: "SandboxTemplate",
        metadata: metadata(`${template}-${runner}`),
        spec: {
          // The policy below is for all templates.
          networkPolicyManagement: "Unmanaged",
          podTemplate: {
            metadata: { labels: PROGRAM },
            spec: programPodSpec({ ...pod, start: starts[runner], limits }),
          },
        },
      },
      {
        apiVersion: API,
        kind: "SandboxWarmPool",
        metadata: metadata(`${template}-${runner}`),
        spec: { replicas, sandboxTemplateRef: { name: `${template}-${runner}` } },
      },
    ]),
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: metadata(`${template}-programs`),
      spec: {
        podSelector: { matchLabels: PROGRAM },
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          {
            from: [{ podSelector: { matchLabels: HOST } }],
            ports: [{ protocol: "TCP", port: LAUNCHER_PORT }],
          },
        ],
      },
    },
  ];
}
