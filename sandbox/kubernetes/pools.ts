/**
 * The pools that pods of programs wait in (SandboxWarmPool), one for each runner, and the templates that their pods are made from
 * (SandboxTemplate). An operator puts both there; ptc only looks.
 */

import * as z from "zod/mini";
import type { RunnerName } from "../../protocol/runners.ts";
import { SandboxError } from "../sandbox-error.ts";
import { ApiError, type ClusterApi, EXTENSIONS_API } from "./cluster-api.ts";
import { PodSpec } from "./program-pod.ts";

/** How long what was found about a template is reused. */
const GOOD_MS = 5_000;
/** What `sandbox.runtime` calls gVisor, and how RuntimeClasses do: gVisor's own instructions, and GKE. */
export const GVISOR = "runsc";
const GVISOR_HANDLERS = ["runsc", "gvisor"];
/** What to do where a template is missing or another. */
export const MANIFESTS = "`ptc image manifests IMAGE | kubectl apply -f -` makes one";

const WarmPool = z.object({
  spec: z.object({
    replicas: z.optional(z.int()),
    sandboxTemplateRef: z.object({ name: z.string() }),
  }),
  status: z.optional(z.object({ readyReplicas: z.optional(z.int()) })),
});
const Template = z.object({ spec: z.object({ podTemplate: z.object({ spec: PodSpec }) }) });
const RuntimeClass = z.object({ handler: z.string() });

/** What the pods of one pool are like, as its template says now. */
export interface PodTemplate {
  pool: string;
  name: string;
  spec: PodSpec;
  image: string;
  /** What `sandbox.runtime` calls the runtime. */
  runtime: string;
  /** How many pods are to wait, and how many do. */
  replicas: number;
  ready: number;
}

/** The pools of one namespace whose names begin alike. */
export class Pools {
  readonly #api: ClusterApi;
  readonly #prefix: string;
  /** Handlers of RuntimeClasses, which never change. */
  readonly #handlers = new Map<string, string>();
  readonly #templates = new Map<RunnerName, { found: Promise<PodTemplate>; atMs: number }>();

  constructor(api: ClusterApi, prefix: string) {
    this.#api = api;
    this.#prefix = prefix;
  }

  /** The template of the pool of a runner, at most some seconds old. @throws SandboxError `image_missing`, `engine_unreachable` */
  templateOf(runner: RunnerName): Promise<PodTemplate> {
    const known = this.#templates.get(runner);
    if (known !== undefined && performance.now() - known.atMs < GOOD_MS) return known.found;
    const found = this.#findTemplate(runner);
    this.#templates.set(runner, { found, atMs: performance.now() });
    found.catch(() => this.#templates.delete(runner));
    return found;
  }

  async #findTemplate(runner: RunnerName): Promise<PodTemplate> {
    const base = `${EXTENSIONS_API}/namespaces/${this.#api.namespace}`;
    const pool = `${this.#prefix}-${runner}`;
    const findTemplate = (name: string) => this.#find(`${base}/sandboxtemplates/${name}`);
    // Most pools have a template of their own name.
    const [foundPool, ofThatName] = await Promise.all([
      this.#find(`${base}/sandboxwarmpools/${pool}`),
      findTemplate(pool),
    ]);
    if (foundPool === undefined)
      throw new SandboxError(
        "image_missing",
        `there is no SandboxWarmPool '${pool}' in the namespace ${this.#api.namespace}; ${MANIFESTS}`,
      );
    const { spec: poolSpec, status } = WarmPool.parse(foundPool);
    const { name } = poolSpec.sandboxTemplateRef;
    const foundTemplate = name === pool ? ofThatName : await findTemplate(name);
    if (foundTemplate === undefined)
      throw new SandboxError(
        "image_missing",
        `the SandboxWarmPool '${pool}' names the SandboxTemplate '${name}', which is not there; ${MANIFESTS}`,
      );
    const { spec } = Template.parse(foundTemplate).spec.podTemplate;
    const handler = await this.#handlerOf(spec.runtimeClassName);
    const runtime = GVISOR_HANDLERS.includes(handler) ? GVISOR : handler;
    const image = spec.containers[0]?.image ?? "";
    return {
      ...{ pool, name, spec, image, runtime },
      ...{ replicas: poolSpec.replicas ?? 0, ready: status?.readyReplicas ?? 0 },
    };
  }

  /** As the cluster says; a RuntimeClass that ptc may not look at is taken by its name. */
  async #handlerOf(runtimeClass: string | undefined): Promise<string> {
    if (runtimeClass === undefined) return "the runtime of the node";
    const known = this.#handlers.get(runtimeClass);
    if (known !== undefined) return known;
    try {
      const found = await this.#find(`/apis/node.k8s.io/v1/runtimeclasses/${runtimeClass}`);
      if (found === undefined) return `a RuntimeClass that is not there (${runtimeClass})`;
      const { handler } = RuntimeClass.parse(found);
      this.#handlers.set(runtimeClass, handler);
      return handler;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return runtimeClass;
      throw error;
    }
  }

  async #find(path: string): Promise<unknown> {
    try {
      return await this.#api.find(path);
    } catch (error) {
      if (!(error instanceof ApiError) || path.startsWith("/apis/node.k8s.io/")) throw error;
      throw new SandboxError(
        "engine_unreachable",
        `the cluster does not show what ptc needs to see: ${error.message}; \`kubectl auth can-i --list -n ${this.#api.namespace}\` shows what is allowed`,
        { cause: error },
      );
    }
  }
}
