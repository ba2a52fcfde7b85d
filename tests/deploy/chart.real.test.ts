import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { programManifests } from "../../sandbox/kubernetes/manifests.ts";
import { describeClustered, TestNamespace } from "../sandbox/kubernetes/cluster.ts";
import { newFolder } from "../temporary-folder.ts";

const CHART = join(import.meta.dirname, "../../deploy/chart");
const EXAMPLE = join(CHART, "ci/example-values.yaml");
const HELM = process.env.PTC_TEST_HELM ?? "helm";
const HAS_HELM = spawnSync(HELM, ["version"]).status === 0;
const IMAGE = `registry.example.com/ptc-runner@sha256:${"0123".repeat(16)}`;

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of them.
type Manifest = any;

describeClustered(`the chart${HAS_HELM ? "" : " (skipped: PTC_TEST_HELM names no helm)"}`, () => {
  const cluster = new TestNamespace("chart").use({ replicas: 0 });

  beforeAll(() => {
    const labels = ["enforce", "enforce-version"].map((mode) => `pod-security.kubernetes.io/${mode}`);
    cluster.kubectl(
      "label",
      "namespace",
      cluster.namespace,
      `${labels[0]}=restricted`,
      `${labels[1]}=latest`,
    );
  });

  function helm(command: readonly string[], values: object = {}): string {
    const file = join(newFolder(), "values.yaml");
    writeFileSync(file, JSON.stringify(values));
    return execFileSync(HELM, [...command, "--kube-version", "1.34.4", "-f", EXAMPLE, "-f", file], {
      encoding: "utf8",
    });
  }

  const render = (values?: object): Manifest[] =>
    parseAllDocuments(helm(["template", "ptc", CHART, "--namespace", cluster.namespace], values)).map(
      (each) => each.toJS(),
    );

  test.skipIf(!HAS_HELM)("has nothing that helm's own check finds", () => {
    expect(helm(["lint", "--strict", CHART])).toContain("1 chart(s) linted, 0 chart(s) failed");
  });

  test.skipIf(!HAS_HELM).each([
    ["as the example has it", {}],
    [
      "with everything on",
      {
        autoscaling: { enabled: true },
        ingress: { enabled: true, host: "ptc.example.com", className: "nginx", tlsSecret: "tls" },
        http: { tlsSecret: "ptc-tls" },
        env: [{ name: "CRM_KEY", valueFrom: { secretKeyRef: { name: "crm", key: "key" } } }],
        envFrom: [{ secretRef: { name: "more" } }],
        imagePullSecrets: [{ name: "registry" }],
        podAnnotations: { a: "b" },
        nodeSelector: { a: "b" },
      },
    ],
    [
      "through the API server, without modules at the start",
      { generate: false, programs: { certificatesSecret: "", clientCertificatesSecret: "" } },
    ],
  ])("is taken by the API server, %s", (_what, values) => {
    const manifests = render(values);
    expect(() => cluster.tryOut(...manifests)).not.toThrow();
    expect(manifests.map(({ kind }) => kind)).toContain("Deployment");
  });

  test.skipIf(!HAS_HELM)(
    "has pods of ptc and of programs that keep to the restricted Pod Security Standard",
    () => {
      const manifests = render();
      const specs = manifests.flatMap(({ kind, spec }) =>
        kind === "Deployment"
          ? [spec.template.spec]
          : kind === "SandboxTemplate"
            ? [spec.podTemplate.spec]
            : [],
      );
      expect(specs).toHaveLength(3);
      const pod = (spec: object, index: number) => ({
        ...{ apiVersion: "v1", kind: "Pod", spec: { ...spec, serviceAccountName: "default" } },
        metadata: { name: `pod-${index}`, namespace: cluster.namespace },
      });
      expect(() => cluster.tryOut(...specs.map(pod))).not.toThrow();
      // The namespace would refuse others.
      const [spec] = specs;
      const weak = { ...spec, securityContext: { ...spec.securityContext, runAsNonRoot: false } };
      expect(() => cluster.tryOut(pod(weak, 9))).toThrow(/violates PodSecurity/);
    },
  );

  test.skipIf(!HAS_HELM).each([
    { memoryMb: 512, cpus: 1, pids: 256 },
    { memoryMb: 301, cpus: 0.5, pids: 101 },
    { memoryMb: 128, cpus: 2, pids: 16 },
  ])("has the pods that `ptc image manifests` would make, for $memoryMb MB", (limits) => {
    const wanted = programManifests({
      ...{ namespace: cluster.namespace, template: "ptc", runners: ["javascript", "python"], replicas: 2 },
      ...{
        starts: RUNNER_STARTS,
        limits,
        image: IMAGE,
        runtimeClass: "gvisor",
        certificates: "ptc-launcher",
      },
    });
    const pools = ["javascript", "python"].map((runner) => ({ runner, replicas: 2 }));
    const manifests = render({ programs: { ...limits, pools } });
    const about = (each: Manifest) => `${each.kind} ${each.metadata.name}`;
    const names = wanted.map(about);
    const made = manifests.filter((each) => names.includes(about(each)));
    const sorted = (all: Manifest[]) => all.toSorted((a, b) => about(a).localeCompare(about(b)));
    expect(sorted(made)).toEqual(sorted(wanted));
  });

  test.skipIf(!HAS_HELM)("gives a running program its time after SIGTERM, and a moment more", () => {
    const manifests = render({ http: { drainSeconds: 300 } });
    const { spec } = manifests.find(({ kind }) => kind === "Deployment").spec.template;
    const configuration = parse(manifests.find(({ kind }) => kind === "ConfigMap").data["ptc.yaml"]);
    const { seconds } = spec.containers[0].lifecycle.preStop.sleep;
    expect(configuration.http.drain_seconds).toBe(300);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(configuration.http.drain_seconds + seconds);
  });
});
