import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RIGHTS } from "../../../sandbox/kubernetes/examination.ts";
import { usePtc } from "../../cli/ptc-process.ts";
import { newFolder } from "../../temporary-folder.ts";
import { describeClustered, makeCertificates, TestNamespace } from "./cluster.ts";

describeClustered("ptc doctor in a cluster", () => {
  const project = usePtc();
  const cluster = new TestNamespace("doctor").use({ replicas: 2 });

  /** The lines about the cluster, and the exit code. */
  async function doctor(kubernetes: object = {}, image = cluster.image) {
    const folder = project({
      "ptc.yaml": {
        sandbox: { engine: "kubernetes", image, kubernetes: { ...cluster.options, ...kubernetes } },
      },
    });
    const { code, stdout } = await folder.ptc(["doctor", "--json"]);
    const { findings } = JSON.parse(stdout) as { findings: { part: string; ok: boolean; detail: string }[] };
    const from = findings.findIndex(({ part }) => part === "kubernetes");
    const parts = findings.slice(from);
    return {
      code,
      parts: parts.map(({ part, ok }) => `${ok ? "ok" : "FAIL"} ${part}`),
      said: parts.at(-1)?.detail,
    };
  }

  test("finds each part, and starts a program's sandbox in a pod", async () => {
    const { code, parts } = await doctor();
    expect(parts).toEqual([
      ...[
        "ok kubernetes",
        "ok agent-sandbox",
        "ok rights",
        "ok template (javascript)",
        "ok pool (javascript)",
      ],
      ...["ok channel", "ok image", "ok sandbox"],
    ]);
    expect(code).toBe(0);
  });

  test("names what a service account may not do, and the line that allows it", async () => {
    const kubeconfig = cluster.account(
      "stranger",
      RIGHTS.filter(({ resource }) => resource !== "pods").slice(1),
    );
    const { code, parts, said } = await doctor({ kubeconfig });
    expect(parts.at(-1)).toBe("FAIL rights");
    expect(said).toMatch(
      /^system:serviceaccount:ptc-doctor-\d+:stranger may not create, get, list, watch, patch, delete sandboxclaims\.extensions\.agents\.x-k8s\.io; get pods in the namespace/,
    );
    expect(said).toMatch(
      /`kubectl create rolebinding ptc --role=ptc --serviceaccount=ptc-doctor-\d+:stranger -n/,
    );
    expect(code).not.toBe(0);
  });

  test("is content with an account that has the rights of docs/kubernetes.md and no other", async () => {
    const kubeconfig = cluster.account(
      "ptc",
      RIGHTS.filter(({ resource }) => resource !== "pods/exec"),
    );
    expect(await doctor({ kubeconfig })).toMatchObject({ code: 0 });
  });

  test("says how to make a pool that is not there", async () => {
    const { parts, said } = await doctor({ template: "elsewhere" });
    expect(parts.at(-1)).toBe("FAIL template (javascript)");
    expect(said).toMatch(
      /there is no SandboxWarmPool 'elsewhere-javascript' .*`ptc image manifests IMAGE \| kubectl apply/,
    );
  });

  test("names the RuntimeClass that a template lacks, and the wall", async () => {
    cluster.apply(...cluster.manifestsOf({ template: "weak", runtimeClass: "nothing", replicas: 0 }));
    onTestFinished(() => void cluster.kubectl("delete", "sandboxwarmpool", "weak-javascript"));
    const { parts, said } = await doctor({ template: "weak" });
    expect(parts.at(-1)).toBe("FAIL template (javascript)");
    expect(said).toMatch(/a RuntimeClass that is not there \(nothing\).*`kubectl get runtimeclass`/);
  });

  test("says where to look when no pod of a pool is ready", async () => {
    const image = `localhost/nowhere@sha256:${"ab".repeat(32)}`;
    cluster.apply(...cluster.manifestsOf({ template: "nowhere", image, replicas: 1 }));
    onTestFinished(() => void cluster.kubectl("delete", "sandboxwarmpool", "nowhere-javascript"));
    const { parts, said } = await doctor({ template: "nowhere" }, "nowhere");
    expect(parts.at(-1)).toBe("FAIL pool (javascript)");
    expect(said).toMatch(/none of 1 pod of nowhere-javascript is ready: `kubectl describe/);
  });

  test("says that pods cannot be reached with certificates of another authority", async () => {
    const certificates = newFolder();
    makeCertificates(certificates);
    const { parts, said } = await doctor({ certificates });
    expect(parts.at(-1)).toBe("FAIL sandbox");
    expect(said).toMatch(/the launcher of the pod at .* cannot be reached: .*certificates of one authority/);
  });

  test("says that the API server cannot be reached", async () => {
    const kubeconfig = join(newFolder(), "kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigText.replace(cluster.server, "https://127.0.0.1:1"));
    const { parts, said } = await doctor({ kubeconfig });
    expect(parts).toEqual(["FAIL kubernetes"]);
    expect(said).toMatch(/does not answer: .*; `kubectl cluster-info`/);
  });
});
