/**
 * The API server of a cluster, as far as sandboxes need it: requests for single objects, watches of many, and processes executed
 * in a pod. Who the user is, and where the server, is `@kubernetes/client-node`'s to find out: from a kubeconfig as `kubectl`
 * does, or in a pod from its service account.
 *
 * Requests share a few connections that stay open. One that may be sent twice is sent again while the server restarts.
 */

import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { createInterface } from "node:readline";
import { Duplex, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, Exec, KubeConfig } from "@kubernetes/client-node";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { SandboxError } from "../sandbox-error.ts";

// An import statement would have Node.js load its `fetch` as well.
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

/** The API of agent-sandbox that has claims, templates and pools. */
export const EXTENSIONS_API = "/apis/extensions.agents.x-k8s.io/v1beta1";

const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const ANSWER_LIMITS = { maxBytes: MAX_ANSWER_BYTES, maxDepth: 64 };
const MAX_CONNECTIONS = 16;
const ANSWER_PATIENCE_MS = 15_000;
/** How long a server that restarts is waited for. */
const RESTART_PATIENCE_MS = 20_000;
/** How long a server that has just started may refuse what is allowed, because it has not read its roles yet. */
const ROLES_PATIENCE_MS = 5_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
const MAX_MESSAGE_CHARS = 500;
/** A watch ends by itself after this long, and is begun again. */
const WATCH_S = 300;

/** What says where the cluster is. All of it has defaults, as for `kubectl`. */
export interface ClusterOptions {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

/** The API server has refused a request. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status, such as 404. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const Status = z.object({ message: z.optional(z.string()), reason: z.optional(z.string()) });
const WatchEvent = z.object({ type: z.string(), object: z.unknown() });
const ListAnswer = z.object({
  metadata: z.object({ resourceVersion: z.optional(z.string()) }),
  items: z.array(z.unknown()),
});

export interface ApiRequest {
  /** A change of an object is a merge patch (RFC 7386). */
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** From the root, such as `/api/v1/namespaces/default/pods`. */
  path: string;
  body?: object;
  /** Whether it is sent again while the server cannot be reached, up to some seconds; by default it is. */
  isPatient?: boolean;
  signal?: AbortSignal | undefined;
}

/** One cluster and one of its namespaces. */
export class ClusterApi {
  readonly namespace: string;
  /** The address of the server, and what named it. */
  readonly endpoint: string;
  readonly #config: KubeConfig;
  readonly #cluster: Cluster;
  readonly #agents = {
    "http:": new http.Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS }),
    "https:": new https.Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS }),
  };

  private constructor(config: KubeConfig, cluster: Cluster, namespace: string, source: string) {
    this.#config = config;
    this.#cluster = cluster;
    this.namespace = namespace;
    this.endpoint = `${cluster.server} (${source})`;
  }

  /** Reads the configuration of the cluster. Sends no request. @throws SandboxError `engine_unreachable` where there is none. */
  static open({ kubeconfig, context, namespace }: ClusterOptions): ClusterApi {
    const config = new KubeConfig();
    try {
      if (kubeconfig === undefined) config.loadFromDefault();
      else config.loadFromFile(kubeconfig);
    } catch (cause) {
      const file = kubeconfig ?? "the kubeconfig";
      throw new SandboxError("engine_unreachable", `${file} cannot be read: ${messageOf(cause)}`, { cause });
    }
    if (context !== undefined) {
      const names = config.getContexts().map(({ name }) => name);
      if (!names.includes(context))
        throw new SandboxError(
          "engine_unreachable",
          `sandbox.kubernetes.context names '${context}', and the kubeconfig has ${names.join(", ") || "no context"}`,
        );
      config.setCurrentContext(context);
    }
    const cluster = config.getCurrentCluster();
    if (cluster === null)
      throw new SandboxError(
        "engine_unreachable",
        "no cluster is configured; set sandbox.kubernetes.kubeconfig or KUBECONFIG to a file that `kubectl` can use",
      );
    const used = config.getContextObject(config.getCurrentContext());
    const source = `context ${oneLine(config.getCurrentContext(), MAX_MESSAGE_CHARS)}`;
    return new ClusterApi(config, cluster, namespace ?? used?.namespace ?? "default", source);
  }

  /**
   * Sends a request and gives back what the server answers, as parsed JSON.
   *
   * @throws ApiError when the server refuses it, and a few seconds later too where it lacks a right.
   * @throws SandboxError `engine_unreachable` when the server cannot be reached, or goes on to be busy.
   */
  async request({ method = "GET", path, body, isPatient = true, signal }: ApiRequest): Promise<unknown> {
    const end = performance.now() + (isPatient ? RESTART_PATIENCE_MS : 0);
    let forbiddenMs = Number.POSITIVE_INFINITY;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      let problem: Error;
      try {
        const answer = await this.#send(method, path, body, signal);
        const status = answer.statusCode ?? 0;
        const read = await readWithin(answer);
        if (status < 300) return parseForeignJson(read, ANSWER_LIMITS);
        problem = new ApiError(status, messageIn(read, status));
        if (status === 403) forbiddenMs = Math.min(forbiddenMs, performance.now());
        const mayKnowLater =
          status === 403 && isPatient && performance.now() + pauseMs < forbiddenMs + ROLES_PATIENCE_MS;
        // The server starts or stops, or has too much to do.
        if (status !== 429 && status < 500 && !mayKnowLater) throw problem;
      } catch (error) {
        if (error instanceof ApiError || signal?.aborted) throw error;
        problem = new Error(messageOf(error));
      }
      if (performance.now() + pauseMs > end)
        throw new SandboxError(
          "engine_unreachable",
          `the API server at ${this.endpoint} does not answer: ${problem.message}; \`kubectl cluster-info\` shows whether it can be reached`,
          { cause: problem },
        );
      await delay(pauseMs, undefined, { ref: true, ...(signal && { signal }) });
    }
  }

  /** As {@link request}; undefined where there is no such object. */
  async find(path: string, signal?: AbortSignal): Promise<unknown> {
    try {
      return await this.request({ path, signal });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Deletes an object. Does nothing where there is none. */
  async delete(path: string, body: object = {}): Promise<void> {
    try {
      await this.request({ method: "DELETE", path, body });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }

  /** The objects of a collection that have these labels. */
  async list(path: string, labels: string): Promise<unknown[]> {
    return (await this.#list(path, labels)).items;
  }

  /**
   * Follows a collection until the signal is aborted: reports each object that there is, and then each change, also after
   * connections that were closed. An object may be reported twice, and one that is deleted while there is no connection is not
   * reported. Never rejects.
   */
  async follow(
    path: string,
    labels: string,
    onChange: (object: unknown, isDeleted: boolean) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        const { items, version } = await this.#list(path, labels, signal);
        for (const item of items) onChange(item, false);
        await this.#watch(path, labels, version, onChange, signal);
        pauseMs = FIRST_PAUSE_MS;
      } catch {
        // The next round finds out what has changed meanwhile.
      }
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /**
   * Runs a command in a container, and gives back its stdin and stdout as one stream, which ends with the command.
   *
   * @throws SandboxError `start_failed`
   */
  async execute(pod: string, container: string, command: readonly string[]): Promise<Duplex> {
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const complaints = new PassThrough();
    complaints.resume();
    try {
      const exec = new Exec(this.#config);
      const connection = await exec.exec(
        this.namespace,
        pod,
        container,
        [...command],
        stdout,
        complaints,
        stdin,
        false,
      );
      const stream = Duplex.from({ readable: stdout, writable: stdin });
      const end = () => stream.destroy();
      connection.onclose = end;
      connection.onerror = end;
      stream.on("error", () => {});
      stream.on("close", () => connection.close());
      return stream;
    } catch (cause) {
      const why = cause instanceof Error && cause.message !== "" ? cause.message : "it was refused";
      throw new SandboxError(
        "start_failed",
        `nothing can be executed in the pod ${pod}: ${why}; \`kubectl auth can-i create pods/exec -n ${this.namespace}\` shows whether it is allowed`,
        { cause },
      );
    }
  }

  async #list(
    path: string,
    labels: string,
    signal?: AbortSignal,
  ): Promise<{ items: unknown[]; version: string }> {
    const answer = ListAnswer.parse(
      await this.request({ path: `${path}?labelSelector=${encodeURIComponent(labels)}`, signal }),
    );
    return { items: answer.items, version: answer.metadata.resourceVersion ?? "" };
  }

  async #watch(
    path: string,
    labels: string,
    version: string,
    onChange: (object: unknown, isDeleted: boolean) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const query = new URLSearchParams({
      watch: "1",
      labelSelector: labels,
      resourceVersion: version,
      timeoutSeconds: String(WATCH_S),
    });
    const answer = await this.#send("GET", `${path}?${query}`, undefined, signal, true);
    if (answer.statusCode !== 200) {
      answer.destroy();
      return;
    }
    answer.on("error", () => {});
    for await (const line of createInterface({ input: answer })) {
      const event = WatchEvent.parse(parseForeignJson(line, ANSWER_LIMITS));
      if (event.type === "ERROR") return;
      if (event.type !== "BOOKMARK") onChange(event.object, event.type === "DELETED");
    }
  }

  /** @param isEndless whether the answer goes on for as long as it is read. */
  async #send(
    method: string,
    path: string,
    body: object | undefined,
    signal: AbortSignal | undefined,
    isEndless = false,
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#cluster.server.replace(/\/$/, "")}${path}`);
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername, auth, agent } = options;
    const identity = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername, auth };
    const isPlain = url.protocol === "http:";
    // Where the cluster is behind a proxy, the package's own agent knows the way.
    const isDirect = this.#cluster.proxyUrl === undefined;
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...options.headers,
      accept: "application/json",
      ...(content !== undefined && {
        "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
        "content-length": Buffer.byteLength(content),
      }),
    };
    return new Promise((resolve, reject) => {
      const request = (isPlain ? http : https).request(
        url,
        {
          ...identity,
          ...(!isDirect && { agent }),
          ...(isDirect && { agent: isEndless ? false : this.#agents[isPlain ? "http:" : "https:"] }),
          method,
          headers,
          signal,
        },
        (answer) => {
          request.setTimeout(0);
          resolve(answer);
        },
      );
      request.setTimeout(ANSWER_PATIENCE_MS, () => request.destroy(new Error("it did not answer in time")));
      // A watch keeps no process alive.
      if (isEndless)
        request.on("socket", (socket) => {
          socket.setKeepAlive(true, ANSWER_PATIENCE_MS);
          socket.unref();
        });
      request.on("error", reject);
      request.end(content);
    });
  }
}

async function readWithin(answer: IncomingMessage): Promise<string> {
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) answer.destroy(new Error("the answer is too long"));
  });
  return text(answer);
}

/** What the server says of a request that it refuses. */
function messageIn(answer: string, status: number): string {
  try {
    const { message } = Status.parse(parseForeignJson(answer, ANSWER_LIMITS));
    return oneLine(message ?? "", MAX_MESSAGE_CHARS) || `HTTP ${status}`;
  } catch {
    return `HTTP ${status}`;
  }
}
