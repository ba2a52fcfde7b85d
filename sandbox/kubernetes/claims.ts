/**
 * Claims for pods (SandboxClaim of kubernetes-sigs/agent-sandbox, API v1beta1): made, followed and removed. The cluster keeps pods
 * waiting (SandboxWarmPool), gives one to each claim and to no other, and removes it with the claim.
 */

import { createHash, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { outsideBoundaries } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { SandboxUse } from "../sandbox.ts";
import { orCancelled, SandboxError } from "../sandbox-error.ts";
import { ApiError, type ClusterApi, EXTENSIONS_API } from "./cluster-api.ts";
import { MANAGED, MANAGED_SELECTOR, type OwnerReference } from "./owner-lease.ts";
import { PodSpec } from "./program-pod.ts";

const OWNER_LABEL = "dev.ptc.owner";
const RUN_LABEL = "dev.ptc.run";
const PRINCIPAL_LABEL = "dev.ptc.principal";
/** The owner as it is, where a label has its digest. */
const OWNER_ANNOTATION = "dev.ptc/owner";
/**
 * A claim ends by itself when nobody has renewed it for this long. Its process renews it long before, so that it never ends under
 * a program, whatever the program's limit is, nor under a session.
 */
const LIFE_MS = 2 * 60 * 60_000;
const RENEW_AFTER_MS = 30 * 60_000;
/** How long an ended pod can be looked at. */
const LOOK_S = 60;
/** How often a claim that waits is looked at in addition, in case that a watch has missed something. */
const LOOK_MS = 2_000;
/** How long claims are followed after the last one is gone, because another one often comes soon. */
const LINGER_MS = 60_000;
const ID_BYTES = 8;
const MAX_WHY_CHARS = 400;

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.optional(z.string()),
  message: z.optional(z.string()),
});
const Claim = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.optional(z.record(z.string(), z.string())),
    annotations: z.optional(z.record(z.string(), z.string())),
  }),
  status: z.optional(
    z.object({
      conditions: z.optional(z.array(Condition)),
      sandbox: z.optional(
        z.object({ name: z.optional(z.string()), podIPs: z.optional(z.nullable(z.array(z.string()))) }),
      ),
    }),
  ),
});
type Claim = z.infer<typeof Claim>;

const State = z.object({
  waiting: z.optional(z.object({ reason: z.optional(z.string()), message: z.optional(z.string()) })),
  terminated: z.optional(z.object({ exitCode: z.int(), reason: z.optional(z.string()) })),
});
const Pod = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), deletionTimestamp: z.optional(z.string()) }),
  spec: PodSpec,
  status: z.optional(
    z.object({
      phase: z.optional(z.string()),
      reason: z.optional(z.string()),
      message: z.optional(z.string()),
      conditions: z.optional(z.array(Condition)),
      containerStatuses: z.optional(z.array(z.object({ state: z.optional(State) }))),
    }),
  ),
});
export type Pod = z.infer<typeof Pod>;

/** A pod that a claim has got. */
export interface BoundPod {
  name: string;
  address: string;
}

/** What a claim is for. */
export interface ClaimRequest {
  pool: string;
  owner: string;
  belongsTo: OwnerReference;
  /** What it is for, where that is known. */
  use?: SandboxUse | undefined;
  /** Aborted when nobody wants the pod any more. */
  signal?: AbortSignal | undefined;
}

/** The reasons of a `Ready` condition of which another claim need not have the same: the pod has ended. */
const ENDED = new Set(["PodFailed", "PodSucceeded"]);
/** Why a claim gets no pod that waiting would not mend, by the reasons of its `Ready` condition. */
const HOPELESS = new Set(["InvalidMetadata", "TemplateNotFound", "WarmPoolNotFound", "ClaimExpired"]);
/** The same of a container that waits. */
const UNPULLABLE = new Set([
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImagePullBackOff",
  "ErrImagePull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

/** The claims of all ptc processes in one namespace. */
export class Claims {
  readonly #api: ClusterApi;
  readonly #path: string;
  readonly #listeners = new Map<string, (claim: Claim | undefined) => void>();
  /** Claims of this process, with when their ends were put off last. */
  readonly #live = new Map<string, number>();
  /** Claims of this process that are to go and whose removal has failed. */
  readonly #unremoved = new Set<string>();
  #following: AbortController | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(api: ClusterApi) {
    this.#api = api;
    this.#path = `${EXTENSIONS_API}/namespaces/${api.namespace}/sandboxclaims`;
  }

  /**
   * Claims a pod from a pool, and waits until there is one. The claim is removed where it throws.
   *
   * @param onMade called when the claim is made and its pod is waited for.
   * @throws EndedPod where the claim was given a pod that had ended, and another claim may be given a better one
   * @throws SandboxError `start_failed` that says why no pod came, `engine_unreachable`, `cancelled` when the request's signal is aborted
   */
  async make(request: ClaimRequest, patienceMs: number, onMade: () => void): Promise<BoundClaim> {
    const name = `ptc-${randomBytes(ID_BYTES).toString("hex")}`;
    const claim = new BoundClaim(this, name);
    this.#listeners.set(name, (changed) => claim.see(changed));
    this.#live.set(name, performance.now());
    this.#follow(request.owner);
    try {
      await this.#post(name, request);
      onMade();
      await this.#untilBound(claim, patienceMs, request.signal);
      return claim;
    } catch (error) {
      await this.remove(name).catch(() => {});
      throw error;
    }
  }

  async list(): Promise<{ id: string; owner: string }[]> {
    const found = await this.#api.list(this.#path, MANAGED_SELECTOR);
    return found.flatMap((each) => {
      const parsed = Claim.safeParse(each);
      if (!parsed.success) return [];
      const { name, labels = {}, annotations = {} } = parsed.data.metadata;
      return [{ id: name, owner: annotations[OWNER_ANNOTATION] ?? labels[OWNER_LABEL] ?? "" }];
    });
  }

  /** Removes a claim, and its pod. Does nothing where there is none. */
  async remove(name: string): Promise<void> {
    this.#live.delete(name);
    try {
      await this.#api.delete(`${this.#path}/${name}`, { propagationPolicy: "Background" });
      this.#unremoved.delete(name);
    } catch (error) {
      this.#unremoved.add(name);
      throw error;
    } finally {
      this.#listeners.delete(name);
      clearTimeout(this.#lingering);
      if (this.#listeners.size === 0) this.#lingering = setTimeout(() => this.#unfollow(), LINGER_MS).unref();
    }
  }

  /** Labels a claim with what it is used for. */
  async label(name: string, use: SandboxUse): Promise<void> {
    const body = { metadata: { labels: useLabels(use) } };
    await this.#api.request({ method: "PATCH", path: `${this.#path}/${name}`, body });
  }

  /**
   * Puts off the time at which claims of this process would end by themselves, where it comes near, and removes those that could not be
   * removed before. Never rejects.
   */
  async renewDue(): Promise<void> {
    for (const name of this.#unremoved) await this.remove(name).catch(() => {});
    const nowMs = performance.now();
    const body = { spec: { lifecycle: lifecycle() } };
    const due = [...this.#live].filter(([, sinceMs]) => nowMs - sinceMs > RENEW_AFTER_MS);
    for (const [name] of due) {
      const path = `${this.#path}/${name}`;
      const renewed = await this.#api.request({ method: "PATCH", path, body }).catch(() => undefined);
      if (renewed !== undefined && this.#live.has(name)) this.#live.set(name, nowMs);
    }
  }

  /** The pod of a sandbox, as it is now; undefined where there is none. */
  async findPod(name: string): Promise<Pod | undefined> {
    const found = await this.#api.find(`/api/v1/namespaces/${this.#api.namespace}/pods/${name}`);
    return found === undefined ? undefined : Pod.parse(found);
  }

  close(): void {
    this.#unfollow();
  }

  async #post(name: string, { pool, owner, belongsTo, use }: ClaimRequest): Promise<void> {
    const body = {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: {
        name,
        labels: { ...MANAGED, [OWNER_LABEL]: labelValue(owner), ...(use && useLabels(use)) },
        annotations: { [OWNER_ANNOTATION]: owner },
        ownerReferences: [belongsTo],
      },
      spec: { warmPoolRef: { name: pool }, lifecycle: lifecycle() },
    };
    try {
      await this.#api.request({ method: "POST", path: this.#path, body });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The name is random: the claim is this one, whose answer was lost.
      if (error.status === 409) return;
      throw new SandboxError(
        "start_failed",
        `the cluster takes no claim: ${error.message}; \`kubectl auth can-i create sandboxclaims.extensions.agents.x-k8s.io -n ${this.#api.namespace}\` shows whether it is allowed`,
        { cause: error },
      );
    }
  }

  async #untilBound(claim: BoundClaim, patienceMs: number, signal: AbortSignal | undefined): Promise<void> {
    const end = performance.now() + patienceMs;
    let lookedMs = performance.now();
    const path = `${this.#path}/${claim.name}`;
    while (claim.pod === undefined) {
      const hopeless = claim.hopeless;
      if (hopeless !== undefined) throw noPod(hopeless);
      if (claim.hasEnded) throw await this.#endedPod(claim);
      const leftMs = end - performance.now();
      if (leftMs <= 0) {
        const { why = "the pool is empty" } = await this.#why(claim).catch(() => ({ why: undefined }));
        const advice = `raise the replicas of the SandboxWarmPool, add nodes, or let programs wait longer with sandbox.kubernetes.ready_timeout_seconds; \`kubectl describe sandboxclaims,sandboxes,pods -n ${this.#api.namespace}\` shows more`;
        throw noPod(`none was ready within ${Math.ceil(patienceMs / 1_000)} s: ${why}; ${advice}`);
      }
      const looked = delay(Math.min(LOOK_MS, leftMs), undefined, { ref: true });
      await orCancelled(Promise.race([claim.changed(), looked]), signal);
      if (claim.pod !== undefined || performance.now() < lookedMs + LOOK_MS) continue;
      lookedMs = performance.now();
      const found = await this.#api.find(path);
      claim.see(found === undefined ? undefined : Claim.parse(found));
      const { why, isFinal } = await this.#why(claim).catch(() => ({ why: undefined, isFinal: false }));
      if (isFinal && why !== undefined) throw noPod(why);
    }
  }

  /** Why a claim has no pod yet, by what the cluster says of the claim, its sandbox and its pod. */
  async #why(claim: BoundClaim): Promise<{ why: string | undefined; isFinal: boolean }> {
    const { namespace } = this.#api;
    const sandbox = claim.sandbox;
    const pod = sandbox === undefined ? undefined : await this.findPod(sandbox);
    const waiting = pod?.status?.containerStatuses?.[0]?.state?.waiting;
    if (waiting?.reason !== undefined && UNPULLABLE.has(waiting.reason)) {
      const advice = `see that the nodes can pull the image of the template: \`kubectl describe pod ${pod?.metadata.name} -n ${namespace}\``;
      return { why: `${waiting.reason}: ${line(waiting.message)}; ${advice}`, isFinal: true };
    }
    const unscheduled = pod?.status?.conditions?.find(
      ({ type, status }) => type === "PodScheduled" && status === "False",
    );
    const said = unscheduled?.message ?? claim.message;
    return { why: said === undefined ? undefined : line(said), isFinal: false };
  }

  /** What is told where a claim was given a pod that has ended. */
  async #endedPod(claim: BoundClaim): Promise<EndedPod> {
    const name = claim.sandbox ?? claim.name;
    const pod = await this.findPod(name).catch(() => undefined);
    const { reason, message, containerStatuses } = pod?.status ?? {};
    const terminated = containerStatuses?.[0]?.state?.terminated;
    const code = terminated === undefined ? undefined : `exit code ${terminated.exitCode}`;
    const why = [claim.message, reason ?? terminated?.reason, code, message]
      .filter((part) => part)
      .join(", ");
    const advice = `\`kubectl logs ${name} -n ${this.#api.namespace}\` may say more while there is the pod`;
    return new EndedPod(
      "start_failed",
      `the pod for the program has ended before it was used: ${line(why)}; ${advice}`,
    );
  }

  #follow(owner: string): void {
    clearTimeout(this.#lingering);
    if (this.#following !== undefined) return;
    const following = new AbortController();
    this.#following = following;
    const labels = `${MANAGED_SELECTOR},${OWNER_LABEL}=${labelValue(owner)}`;
    const pass = (object: unknown, isDeleted: boolean) => {
      const parsed = Claim.safeParse(object);
      if (!parsed.success) return;
      this.#listeners.get(parsed.data.metadata.name)?.(isDeleted ? undefined : parsed.data);
    };
    void outsideBoundaries(() => this.#api.follow(this.#path, labels, pass, following.signal));
  }

  #unfollow(): void {
    clearTimeout(this.#lingering);
    this.#following?.abort();
    this.#following = undefined;
  }
}

/** A claim was given a pod that has ended, such as one whose node had just gone. No program has begun in it. */
export class EndedPod extends SandboxError {}

/** A claim of this process, and what is known of it. */
export class BoundClaim {
  readonly name: string;
  readonly #claims: Claims;
  readonly #gone = Promise.withResolvers<void>();
  #latest: Claim | undefined;
  #isGone = false;
  #notify: () => void = () => {};
  #removed: Promise<void> | undefined;

  constructor(claims: Claims, name: string) {
    this.name = name;
    this.#claims = claims;
  }

  /** Resolves when there is no such claim any more, or its pod is not ready any more. */
  get lost(): Promise<void> {
    return this.#gone.promise;
  }

  /** Whether the claim is known to be gone. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The pod, once the claim has one that is ready. */
  get pod(): BoundPod | undefined {
    const { name, podIPs } = this.#latest?.status?.sandbox ?? {};
    const address = podIPs?.[0];
    return this.#ready?.status === "True" && name && address ? { name, address } : undefined;
  }

  /** The sandbox that the claim has, whether it is ready or not. Its pod has the same name. */
  get sandbox(): string | undefined {
    return this.#latest?.status?.sandbox?.name || undefined;
  }

  /** What the cluster says of a claim without a pod. */
  get message(): string | undefined {
    const { reason, message } = this.#ready ?? {};
    return [reason, message].filter((part) => part).join(": ") || undefined;
  }

  /** Why it will never have a pod. */
  get hopeless(): string | undefined {
    if (this.#isGone) return "the claim was removed by somebody else";
    return HOPELESS.has(this.#ready?.reason ?? "") ? line(this.message) : undefined;
  }

  /** Whether its pod has ended before the claim was ready. */
  get hasEnded(): boolean {
    return ENDED.has(this.#ready?.reason ?? "");
  }

  see(claim: Claim | undefined): void {
    const wasBound = this.pod !== undefined;
    if (claim === undefined) this.#isGone = true;
    else this.#latest = claim;
    if (this.#isGone || (wasBound && this.pod === undefined)) this.#gone.resolve();
    this.#notify();
  }

  /** Resolves with the next change. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#notify = resolve;
    });
  }

  /** Removes it. Sends one request, however often it is called, unless that has failed. */
  remove(): Promise<void> {
    this.#removed ??= this.#claims.remove(this.name).catch((error) => {
      this.#removed = undefined;
      throw error;
    });
    return this.#removed;
  }

  get #ready() {
    return this.#latest?.status?.conditions?.find(({ type }) => type === "Ready");
  }
}

const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const DIGEST_DIGITS = 32;

/**
 * The value of a label that stands for a text: the text itself where a label can have it, and else the first 32 digits of its SHA-256.
 * No two texts have the same, as no text that looks like such a digest stands for itself. Pure.
 */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text) && !/^[0-9a-f]{32}$/.test(text)) return text;
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_DIGITS);
}

function useLabels({ run, principal }: SandboxUse): Record<string, string> {
  return { [RUN_LABEL]: labelValue(run), [PRINCIPAL_LABEL]: labelValue(principal) };
}

function lifecycle() {
  return {
    shutdownPolicy: "Delete",
    shutdownTime: new Date(Date.now() + LIFE_MS).toISOString().replace(/\.\d+Z$/, "Z"),
    ttlSecondsAfterFinished: LOOK_S,
  };
}

function noPod(why: string): SandboxError {
  return new SandboxError("start_failed", `the cluster has no pod for the program: ${why}`);
}

function line(text: string | undefined): string {
  return oneLine(text ?? "", MAX_WHY_CHARS);
}
