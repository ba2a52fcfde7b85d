/**
 * Whether a ptc process lives, as other processes in the cluster see it: a Lease that it renews. Its claims belong to the Lease, so
 * that the cluster removes them when the Lease is gone, and the pods with them. Every ptc removes the Leases that nobody renews: what
 * a killed process has left is swept by any other. The Lease of a ptc that is itself a pod of the namespace belongs to that pod, and
 * goes with it even if ptc could not give it back.
 *
 * Clocks of machines differ. A Lease has expired when it has not changed for its duration while this process looked, by this
 * process's clock; or at once when it is older than clocks can differ. A process that serves looks also while it has no lease.
 */

import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { ClusterApi } from "./cluster-api.ts";
import { ApiError } from "./cluster-api.ts";

const DURATION_S = 60;
const RENEWAL_MS = 15_000;
/** Further apart than the clocks of machines. */
const LONG_AGO_MS = 15 * 60_000;

/** The label of all objects that ptc makes in a cluster. */
export const MANAGED = { "app.kubernetes.io/managed-by": "ptc" } as const;
/** Finds them. */
export const MANAGED_SELECTOR = "app.kubernetes.io/managed-by=ptc";

const Lease = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.optional(
    z.object({ holderIdentity: z.optional(z.string()), renewTime: z.optional(z.nullable(z.string())) }),
  ),
});

/** What makes an object belong to the lease. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/**
 * The pod that this process runs in, by the variables that the chart sets; undefined where it is none of this namespace, because an
 * object can belong to objects of its own namespace alone.
 */
function podOfThisProcess(namespace: string): OwnerReference | undefined {
  const { PTC_POD_NAMESPACE, PTC_POD_NAME: name, PTC_POD_UID: uid } = process.env;
  if (PTC_POD_NAMESPACE !== namespace || !name || !uid) return undefined;
  return { apiVersion: "v1", kind: "Pod", name, uid };
}

/** The lease of one owner. */
export class OwnerLease {
  readonly #api: ClusterApi;
  readonly #owner: string;
  readonly #path: string;
  readonly #name: string;
  /** Called with each renewal. */
  readonly #onBeat: () => void;
  #held: Promise<OwnerReference> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Leases of others, with when they were first seen as they are. */
  #seen = new Map<string, { renewed: string; sinceMs: number }>();

  constructor(api: ClusterApi, owner: string, onBeat: () => void = () => {}) {
    this.#api = api;
    this.#owner = owner;
    this.#onBeat = onBeat;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${api.namespace}/leases`;
    this.#name = `ptc-${createHash("sha256").update(owner).digest("hex").slice(0, 20)}`;
  }

  /** Makes the lease when it is first asked for, and renews it from then on. */
  hold(): Promise<OwnerReference> {
    this.#held ??= this.#take().catch((error) => {
      this.#held = undefined;
      throw error;
    });
    return this.#held;
  }

  /** Removes the leases of the dead every so often until it is released, whether it is held or not. */
  watch(): void {
    this.#timer ??= setInterval(() => void this.#beat().catch(() => {}), RENEWAL_MS).unref();
  }

  /** Gives the lease up. What still belongs to it is removed. Never rejects. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    const held = await this.#held?.catch(() => undefined);
    this.#held = undefined;
    if (held !== undefined) await this.#api.delete(`${this.#path}/${this.#name}`).catch(() => {});
  }

  async #take(): Promise<OwnerReference> {
    const reference = await this.#make();
    this.watch();
    void this.#sweep().catch(() => {});
    return reference;
  }

  async #make(): Promise<OwnerReference> {
    const pod = podOfThisProcess(this.#api.namespace);
    const body = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: this.#name, labels: MANAGED, ...(pod !== undefined && { ownerReferences: [pod] }) },
      spec: { holderIdentity: this.#owner, leaseDurationSeconds: DURATION_S, renewTime: now() },
    };
    try {
      return referenceTo(await this.#api.request({ method: "POST", path: this.#path, body }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      // An earlier request, of which only the answer was lost, or another engine of this process.
      return referenceTo(await this.#api.request({ path: `${this.#path}/${this.#name}` }));
    }
  }

  async #beat(): Promise<void> {
    this.#onBeat();
    if (this.#held !== undefined) await this.#renew();
    await this.#sweep();
  }

  async #renew(): Promise<void> {
    try {
      await this.#api.request({
        method: "PATCH",
        path: `${this.#path}/${this.#name}`,
        body: { spec: { renewTime: now() } },
        isPatient: false,
      });
    } catch (error) {
      // Others have taken this process for dead. Later claims belong to a new lease.
      if (error instanceof ApiError && error.status === 404) this.#held = this.#make();
      await this.#held?.catch(() => {
        this.#held = undefined;
      });
    }
  }

  /** What belongs to the lease goes with it. Another process may be faster, or the owner may have made a new one. */
  async #remove({ name, uid }: { name: string; uid: string }): Promise<void> {
    const body = { propagationPolicy: "Background", preconditions: { uid } };
    await this.#api.delete(`${this.#path}/${name}`, body).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  }

  /** Removes the leases that have expired. */
  async #sweep(): Promise<void> {
    const listed = await this.#api.list(this.#path, MANAGED_SELECTOR);
    const before = this.#seen;
    this.#seen = new Map();
    for (const each of listed) {
      const parsed = Lease.safeParse(each);
      if (!parsed.success || parsed.data.metadata.name === this.#name) continue;
      const { metadata, spec } = parsed.data;
      const renewed = spec?.renewTime ?? "";
      const known = before.get(metadata.name);
      const seen = known?.renewed === renewed ? known : { renewed, sinceMs: performance.now() };
      this.#seen.set(metadata.name, seen);
      const isStill = performance.now() - seen.sinceMs > DURATION_S * 1_000;
      if (isStill || Date.now() - Date.parse(renewed) > LONG_AGO_MS) await this.#remove(metadata);
    }
  }
}

function referenceTo(answer: unknown): OwnerReference {
  const { metadata } = Lease.parse(answer);
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: metadata.name, uid: metadata.uid };
}

/** As a MicroTime of Kubernetes. */
function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
