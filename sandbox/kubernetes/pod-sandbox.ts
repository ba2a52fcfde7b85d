import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { SandboxExit, SandboxUse } from "../sandbox.ts";
import type { StartedSandbox } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import type { BoundClaim, Claims, Pod } from "./claims.ts";
import type { PodChannel } from "./pod-channel.ts";

/** The exit code of a process that SIGKILL has ended. */
const SIGKILLED = 137;
/** How long the cluster may take to say how a pod has ended, and how often it is asked. */
const LOOK_PATIENCE_MS = 20_000;
const LOOK_MS = 250;
/** How long what a pod has sent may take to come in after the cluster says that the pod has ended. */
const LAST_BYTES_MS = 2_000;
const MAX_WHY_CHARS = 300;

/** A sandbox that is a pod, from its claim to the end of it. */
export class PodSandbox implements StartedSandbox {
  readonly id: string;
  readonly connected: Promise<Duplex>;
  readonly exited: Promise<SandboxExit>;
  readonly #claim: BoundClaim;
  readonly #channel: PodChannel;
  readonly #stream: Duplex;
  readonly #claims: Claims;
  /** What the labels of the claim say. */
  #use: SandboxUse | undefined;
  readonly #removed: Promise<void>;
  readonly #podName: string;
  #isKilled = false;
  #isLeft = false;

  constructor(
    {
      claim,
      pod,
      claims,
      use,
    }: { claim: BoundClaim; pod: Pod; claims: Claims; use?: SandboxUse | undefined },
    channel: PodChannel,
    stream: Duplex,
  ) {
    this.id = claim.name;
    this.#claim = claim;
    this.#claims = claims;
    this.#use = use;
    this.#channel = channel;
    this.#stream = stream;
    this.connected = channel.connected;
    const { name, uid } = pod.metadata;
    this.#podName = name;
    this.exited = this.#end(async () => {
      const found = await claims.findPod(name);
      // The cluster makes another one of the same name.
      return found?.metadata.uid === uid ? found : undefined;
    });
    this.exited.catch(() => {});
    const remove = () => claim.remove();
    this.#removed = this.exited.then(remove, remove);
    this.#removed.catch(() => {});
  }

  pause(): void {
    this.#channel.pause();
  }

  clear(): Promise<void> {
    return this.#channel.clear();
  }

  resume(): void {
    this.#channel.resume();
  }

  assign(use: SandboxUse): void {
    if (this.#use?.run === use.run) return;
    this.#use = use;
    // A program does not wait for it, nor fail with it.
    this.#claims.label(this.id, use).catch(() => {});
  }

  /** The launcher ends with its connection. */
  leave(): void {
    this.#isLeft = true;
    this.#stream.end();
    // A pod whose network has gone does not answer.
    void this.#channel.ended.then(() => this.#stream.destroy());
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#stream.destroy();
    await this.#claim.remove();
  }

  removed(): Promise<void> {
    return this.#removed;
  }

  release(): void {
    this.#stream.destroy();
  }

  /**
   * How the sandbox has ended: as its launcher says, or as the cluster does where the launcher could not. What ends a pod from
   * outside is told apart from what its program does.
   */
  async #end(findPod: () => Promise<Pod | undefined>): Promise<SandboxExit> {
    const over = new AbortController();
    const code = await Promise.race([this.#channel.ended, this.#podEnded(findPod, over.signal)]);
    over.abort();
    this.#channel.end();
    this.#stream.destroy();
    if (code !== undefined) return { code };
    if (this.#isKilled) return { code: SIGKILLED };
    const end = performance.now() + LOOK_PATIENCE_MS;
    for (;;) {
      let pod: Pod | undefined;
      try {
        pod = await findPod();
      } catch (cause) {
        throw lostPod(`the connection to its pod was lost, and ${messageOf(cause)}`, { cause });
      }
      if (this.#isKilled) return { code: SIGKILLED };
      const ended = endOf(pod, this.#podName);
      if (typeof ended === "string") throw lostPod(ended);
      if (ended !== undefined) return ended;
      if (performance.now() > end) break;
      await delay(LOOK_MS, undefined, { ref: !this.#isLeft });
    }
    throw lostPod(
      "the connection to its pod was lost, while the cluster says that the pod runs: its node or the network may be down",
    );
  }

  /**
   * Resolves when the cluster says that the pod has ended, since one that is killed for its memory closes no connection. A claim is
   * also said not to be ready while the cluster's controller has trouble of its own, so the pod itself is looked at.
   */
  async #podEnded(findPod: () => Promise<Pod | undefined>, over: AbortSignal): Promise<undefined> {
    await this.#claim.lost;
    for (let isEnded = false; !isEnded && !over.aborted; ) {
      await delay(LAST_BYTES_MS, undefined, { ref: false, signal: over }).catch(() => {});
      isEnded = await findPod().then(
        (pod) => endOf(pod, this.#podName) !== undefined,
        () => false,
      );
    }
  }
}

/** How a pod has ended; a text where the cluster has ended it; undefined while it has not. Pure. */
export function endOf(pod: Pod | undefined, name: string): SandboxExit | string | undefined {
  const deleted = {
    ...{ code: SIGKILLED, isKilledByOthers: true },
    killedBy: `with its pod ${name}, by an eviction, a node that was drained, or somebody; run the program again: \`kubectl get events --field-selector involvedObject.name=${name}\` says more`,
  };
  if (pod === undefined) return deleted;
  const { phase, reason, message, conditions, containerStatuses } = pod.status ?? {};
  const disruption = conditions?.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
  const cause = reason ?? disruption?.reason;
  const terminated = containerStatuses?.[0]?.state?.terminated;
  if (terminated?.reason === "OOMKilled") return { code: SIGKILLED };
  if (cause !== undefined && (phase === "Failed" || disruption !== undefined)) {
    const said = oneLine(message ?? disruption?.message ?? "", MAX_WHY_CHARS);
    return `the cluster has ended its pod (${cause}${said === "" ? "" : `: ${said}`})`;
  }
  const isDeleted = pod.metadata.deletionTimestamp !== undefined;
  if (terminated === undefined) return isDeleted ? deleted : undefined;
  return isDeleted && terminated.exitCode === SIGKILLED ? deleted : { code: terminated.exitCode };
}

function lostPod(why: string, options?: { cause: unknown }): SandboxError {
  return new SandboxError(
    "engine_unreachable",
    `the sandbox was lost: ${why}; run the program again`,
    options,
  );
}
