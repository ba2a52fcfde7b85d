import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import { ClusterApi, EXTENSIONS_API } from "../../sandbox/kubernetes/cluster-api.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { ClusterNamespace, LIMITS, whyNoCluster } from "../../tests/sandbox/kubernetes/namespace.ts";
import { type Bench, type Figure, type Measurement, ratio } from "../measurement.ts";
import { timeShortCalls } from "../parts/brokered-call.ts";
import { openSandboxed } from "../sandboxed.ts";

const ROUNDS = 15;
const CALL_ROUNDS = 3;
/** As long as a pool takes to have a pod instead of one that was given away. */
const REFILL_MS = 2_500;
const MAX_CLAIM_RATIO = 1.25;
const MAX_CALL_RATIO = 1.5;

const TRIVIAL = encodeFrame(
  {
    ...{ type: "program", bundle: "globalThis.result = 1;", data: {} },
    ...{ max_output_bytes: 65_536, max_stderr_bytes: 65_536 },
  },
  MAX_REPLY_FRAME_BYTES,
);

/** Pods of a cluster against agent-sandbox alone, and calls of programs in them against Docker's socket. */
export const kubernetes: Measurement = {
  name: "kubernetes",
  about: "a pod and a trivial program in it against a bare claim, and a call against Docker's socket",
  async measure(bench: Bench) {
    const why = whyNoCluster();
    if (why !== "") {
      bench.skip("kubernetes", why);
      return [];
    }
    const namespace = new ClusterNamespace("bench");
    namespace.open(3, ["javascript"]);
    const engine = namespace.engine("socket");
    // Watches of a cluster keep no process alive.
    const alive = setInterval(() => {}, 1_000);
    const api = ClusterApi.open(namespace.options);
    try {
      return [...(await claims(bench, namespace, engine, api)), await calls(bench, namespace, engine)];
    } finally {
      clearInterval(alive);
      await engine.close();
      namespace.close();
    }
  },
};

async function claims(
  bench: Bench,
  { image }: ClusterNamespace,
  engine: SandboxEngine,
  api: ClusterApi,
): Promise<Figure[]> {
  const digest = (await engine.findImage(image))?.digest ?? "";
  const bareMs: number[] = [];
  const readyMs: number[] = [];
  const programMs: number[] = [];
  const aheadMs: number[] = [];
  const starter = new SandboxStarter({ engine, owner: "bench", image, runtime: "runsc", limits: LIMITS });
  for (let round = -2; round < bench.rounds(ROUNDS); round++) {
    const bare = await claimBare(api, `bench-${round + 2}`);
    await delay(REFILL_MS);
    const program = await runTrivial(engine, digest);
    await delay(REFILL_MS);
    const ahead = await runAhead(starter);
    await delay(REFILL_MS);
    if (round < 0) continue;
    aheadMs.push(ahead);
    bareMs.push(bare);
    readyMs.push(program.readyMs);
    programMs.push(program.endedMs);
  }
  const against = "a bare claim";
  const beside = { against, baselineMs: bareMs, maxRatio: MAX_CLAIM_RATIO };
  return [
    ratio({ name: "from claim to a pod that answers", measuredMs: readyMs, ...beside }),
    ratio({ name: "a trivial program whose pod was claimed ahead", measuredMs: aheadMs, ...beside }),
    ratio({
      name: "a trivial program that claims its pod",
      measuredMs: programMs,
      against,
      baselineMs: bareMs,
    }),
  ];
}

/** From the request for a claim until its pod is ready, without ptc. */
async function claimBare(api: ClusterApi, name: string): Promise<number> {
  const path = `${EXTENSIONS_API}/namespaces/${api.namespace}/sandboxclaims`;
  const labels = { "ptc-bench": name };
  const over = new AbortController();
  const ready = new Promise<number>((resolve) => {
    void api.follow(
      path,
      `ptc-bench=${name}`,
      (claim) => {
        const { status } = claim as { status?: { conditions?: { type: string; status: string }[] } };
        const isReady = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
        if (isReady === true) resolve(performance.now());
      },
      over.signal,
    );
  });
  // The watch is open before the claim is there.
  await delay(200);
  const startedAt = performance.now();
  await api.request({
    method: "POST",
    path,
    body: {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name, labels },
      spec: { warmPoolRef: { name: "ptc-javascript" }, lifecycle: { shutdownPolicy: "Delete" } },
    },
  });
  const tookMs = (await ready) - startedAt;
  over.abort();
  await api.delete(`${path}/${name}`);
  return tookMs;
}

async function runTrivial(engine: SandboxEngine, image: string) {
  const printed = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const started = await engine.start(
    { image, runtime: "runsc", runner: "javascript", limits: LIMITS, owner: "bench" },
    { onStdout: () => printed.resolve(performance.now()), onStderr() {} },
  );
  const channel = await started.connected;
  const readyMs = performance.now() - startedAt;
  channel.resume();
  channel.write(TRIVIAL);
  const endedMs = (await printed.promise) - startedAt;
  await started.exited;
  await started.removed();
  return { readyMs, endedMs };
}

/** A trivial program from its request to its end, where a process claims one pod ahead. */
async function runAhead(starter: SandboxStarter): Promise<number> {
  const pool = new WarmPool(starter, { bounds: { floor: 1, ceiling: 1 } });
  try {
    await pool.warmOne();
    await delay(REFILL_MS);
    const printed = Promise.withResolvers<number>();
    const startedAt = performance.now();
    const { channel } = await pool.acquire({
      onStdout: () => printed.resolve(performance.now()),
      onStderr() {},
    });
    channel.resume();
    channel.write(TRIVIAL);
    return (await printed.promise) - startedAt;
  } finally {
    await pool.close();
  }
}

/** A call of a program, timed in the program: from a pod, and from a container with a mounted socket. */
async function calls(bench: Bench, { image }: ClusterNamespace, engine: SandboxEngine): Promise<Figure> {
  const folder = join(bench.folder, "k");
  mkdirSync(folder, { recursive: true });
  const docker = openSandboxed({ ...bench, folder });
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let round = 0; round < bench.rounds(CALL_ROUNDS); round++) {
    baselineMs.push(...(await timeShortCalls(docker)));
    measuredMs.push(...(await timeShortCalls({ engine, image })));
  }
  return ratio({
    ...{ name: "a call of a program in a pod", measuredMs, against: "Docker's socket", baselineMs },
    maxRatio: MAX_CALL_RATIO,
  });
}
