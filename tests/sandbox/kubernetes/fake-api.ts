import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ClusterApi } from "../../../sandbox/kubernetes/cluster-api.ts";
import { newFolder } from "../../temporary-folder.ts";

/** A cluster of which only the API server's answers are there, until the test ends. */
export async function clusterThatAnswers(answer: RequestListener): Promise<ClusterApi> {
  return ClusterApi.open({ kubeconfig: await kubeconfigOfCluster(answer) });
}

/** The file with the address of such a cluster. */
export async function kubeconfigOfCluster(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const kubeconfig = join(newFolder(), "kubeconfig");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster: { server: address, "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u", namespace: "programs" } }],
    }),
  );
  return kubeconfig;
}
