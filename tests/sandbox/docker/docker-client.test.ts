import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import type { Agent } from "node:https";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { dockerOptions, explainDockerFault } from "../../../sandbox/docker/docker-client.ts";
import { findDockerEndpoint } from "../../../sandbox/docker/docker-endpoint.ts";
import { newFolder } from "../../temporary-folder.ts";

const id = (name: string) => createHash("sha256").update(name).digest("hex");

/** A home folder with these files in its `.docker`. */
function homeWith(files: Record<string, unknown>): string {
  const home = newFolder();
  for (const [path, content] of Object.entries(files)) {
    const file = join(home, ".docker", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  }
  return home;
}

const context = (name: string, docker: object) => ({
  [`contexts/meta/${id(name)}/meta.json`]: { Name: name, Metadata: {}, Endpoints: { docker } },
});

/** Two contexts, of which `colima` is the current one. */
const CONTEXTS = {
  "config.json": { currentContext: "colima", auths: {} },
  ...context("colima", { Host: "unix:///home/me/.colima/default/docker.sock", SkipTLSVerify: false }),
  ...context("far", { Host: "ssh://me@build.example" }),
};

describe("the engine that ptc uses", () => {
  it("is DOCKER_HOST's before any context's", () => {
    const env = { HOME: homeWith(CONTEXTS), DOCKER_HOST: "tcp://10.0.0.1:2375", DOCKER_CONTEXT: "far" };
    expect(findDockerEndpoint(env)).toEqual({ host: "tcp://10.0.0.1:2375", source: "DOCKER_HOST" });
  });

  it("is DOCKER_CONTEXT's, else the current context's", () => {
    const HOME = homeWith(CONTEXTS);
    expect(findDockerEndpoint({ HOME, DOCKER_CONTEXT: "far" })).toEqual({
      host: "ssh://me@build.example",
      source: "context 'far'",
    });
    expect(findDockerEndpoint({ HOME })).toEqual({
      host: "unix:///home/me/.colima/default/docker.sock",
      source: "context 'colima'",
    });
  });

  it("is the one behind the default socket where the context is the default one", () => {
    const endpoint = { host: "unix:///var/run/docker.sock", source: "the default socket" };
    const exists = () => true;
    expect(findDockerEndpoint({ HOME: homeWith(CONTEXTS), DOCKER_CONTEXT: "default" }, exists)).toEqual(
      endpoint,
    );
    expect(findDockerEndpoint({ HOME: homeWith({ "config.json": {} }) }, exists)).toEqual(endpoint);
    expect(findDockerEndpoint({ HOME: homeWith({}) }, exists)).toEqual(endpoint);
  });

  it.each([
    ["/run/user/1000/docker.sock", "rootless Docker"],
    ["/home/me/.docker/run/docker.sock", "Docker Desktop"],
    ["/home/me/.docker/desktop/docker.sock", "Docker Desktop"],
    ["/home/me/.colima/default/docker.sock", "Colima"],
    ["/home/me/.config/colima/default/docker.sock", "Colima"],
    ["/home/me/.orbstack/run/docker.sock", "OrbStack"],
    ["/home/me/.rd/docker.sock", "Rancher Desktop"],
    ["/home/me/.lima/ptc/sock/docker.sock", "Lima"],
    ["/home/me/.lima/docker/sock/docker.sock", "Lima"],
  ])("is the one behind %s where there is no other", (socket, of) => {
    const env = { HOME: "/home/me", XDG_RUNTIME_DIR: "/run/user/1000" };
    expect(findDockerEndpoint(env, (path) => path === socket)).toEqual({
      host: `unix://${socket}`,
      source: `the socket of ${of}`,
    });
  });

  it("is spoken to with the certificates of its context", () => {
    const HOME = homeWith({
      ...context("tls", { Host: "tcp://build.example:2376" }),
      [`contexts/tls/${id("tls")}/docker/ca.pem`]: "CA",
      [`contexts/tls/${id("tls")}/docker/cert.pem`]: "CERT",
      [`contexts/tls/${id("tls")}/docker/key.pem`]: "KEY",
    });
    const endpoint = findDockerEndpoint({ HOME, DOCKER_CONTEXT: "tls" });
    expect(endpoint.tls).toEqual({ ca: "CA", cert: "CERT", key: "KEY", skipVerify: false });
    const files = { ca: "CA", cert: "CERT", key: "KEY" };
    expect(dockerOptions(endpoint)).toEqual({
      protocol: "https",
      host: "build.example",
      port: "2376",
      ...files,
    });
  });

  it("is verified unless the context says otherwise", () => {
    const HOME = homeWith(context("lax", { Host: "tcp://x.example:2376", SkipTLSVerify: true }));
    const { agent } = dockerOptions(findDockerEndpoint({ HOME, DOCKER_CONTEXT: "lax" })) as {
      agent?: Agent;
    };
    expect(agent?.options).toMatchObject({ rejectUnauthorized: false });
  });

  it.each([
    [{}, "gone", "Docker's context 'gone' is not there; `docker context ls`"],
    [context("empty", {}), "empty", "names no engine"],
    [{ [`contexts/meta/${id("torn")}/meta.json`]: "{" }, "torn", "meta.json cannot be read: "],
  ])("is none, with the reason, for a context that cannot be used (case %#)", (files, name, message) => {
    const env = { HOME: homeWith(files), DOCKER_CONTEXT: name };
    expect(() => findDockerEndpoint(env)).toThrow(expect.objectContaining({ code: "engine_unreachable" }));
    expect(() => findDockerEndpoint(env)).toThrow(message);
  });
});

describe("the options of the Docker client", () => {
  it.each([
    ["unix:///run/x.sock", { socketPath: "/run/x.sock" }],
    ["tcp://10.0.0.1:2375", { protocol: "http", host: "10.0.0.1", port: "2375" }],
    ["tcp://[::1]:4000", { protocol: "http", host: "::1", port: "4000" }],
  ])("for %s", (host, options) => {
    expect(dockerOptions({ host, source: "x" })).toEqual(options);
  });

  it.each(["fd://3", "unix", "tcp://", "ftp://x.example"])("are refused for %s", (host) => {
    expect(() => dockerOptions({ host, source: "DOCKER_HOST" })).toThrow(
      /^DOCKER_HOST does not name an engine/,
    );
  });
});

describe("a failure of the engine", () => {
  const failureOf = (message: string, more: object = {}) => Object.assign(new Error(message), more);

  it.each([
    [
      failureOf("connect ENOENT /run/docker.sock", { code: "ENOENT" }),
      "engine_unreachable",
      /^no Docker engine answers \(connect ENOENT \/run\/docker\.sock, which is DOCKER_HOST\); start it, or install Docker \(http\S+\) and gVisor \(http\S+\)$/,
    ],
    [
      failureOf("connect ECONNREFUSED", { code: "ECONNREFUSED" }),
      "engine_unreachable",
      /^no Docker engine answers \(connect ECONNREFUSED, which is DOCKER_HOST\); start it/,
    ],
    [
      failureOf("connect EACCES /run/docker.sock", { code: "EACCES" }),
      "engine_unreachable",
      /^the Docker socket refuses this user \(connect EACCES \/run\/docker\.sock\); add your user to the group that owns it, usually `docker`$/,
    ],
    [
      failureOf("exec /usr/bin/perl: no such file or directory", { statusCode: 400 }),
      "start_failed",
      /^the image has nothing to guard a sandbox with; run `ptc image build`, with a base that has Perl if you name one$/,
    ],
    [
      failureOf("unknown runtime: runsc", { statusCode: 400 }),
      "runtime_missing",
      /^Docker does not know the sandbox runtime \(unknown runtime: runsc\); /,
    ],
    [
      failureOf("the runtime is tired", { statusCode: 500 }),
      "start_failed",
      /^Docker: the runtime is tired$/,
    ],
    [failureOf("no\n  space\tleft"), "start_failed", /^Docker: no space left$/],
    ["no error", "start_failed", /^Docker: no error$/],
  ])("says in one line what to do (case %#)", (failure, code, message) => {
    const explained = explainDockerFault(failure, "start_failed", { source: "DOCKER_HOST" });
    expect(explained).toMatchObject({ code, cause: failure });
    expect(explained.message).toMatch(message);
  });

  it("is passed on if it was explained before", () => {
    const explained = explainDockerFault(failureOf("x"), "engine_unreachable");
    expect(explained.code).toBe("engine_unreachable");
    expect(explainDockerFault(explained, "start_failed")).toBe(explained);
  });
});
