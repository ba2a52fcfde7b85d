import { join } from "node:path";
import { ChosenEngine } from "../../sandbox/chosen-engine.ts";
import { whyNoDocker } from "../../sandbox/docker/docker-endpoint.ts";
import type { EngineOptions, OpenEngine, SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { packageDirectory } from "../../system/package.ts";

async function openDocker(options: EngineOptions): Promise<SandboxEngine> {
  const { openDockerSandboxes } = await import("../../sandbox/docker/docker-sandbox-engine.ts");
  return openDockerSandboxes(options);
}

async function openRunsc(options: EngineOptions): Promise<SandboxEngine> {
  const { RunscEngine } = await import("../../sandbox/runsc/runsc-engine.ts");
  return new RunscEngine(options);
}

async function openWasm({
  wasmFolder = join(packageDirectory, "dist/wasm"),
}: EngineOptions): Promise<SandboxEngine> {
  const { WasmEngine } = await import("../../sandbox/wasm/wasm-engine.ts");
  return new WasmEngine({ folder: wasmFolder });
}

async function openKubernetes(options: EngineOptions): Promise<SandboxEngine> {
  const { KubernetesEngine } = await import("../../sandbox/kubernetes/kubernetes-engine.ts");
  return new KubernetesEngine(options);
}

/** The engine where nobody names another: the one place that knows which there are. Each is loaded when it is first used. */
export const ENGINE: { open: OpenEngine } = {
  open(options) {
    const { choice = "auto", runtime = "runsc", address } = options;
    const once = (open: typeof openDocker) => {
      let opened: Promise<SandboxEngine> | undefined;
      return () => {
        opened ??= open(options);
        return opened;
      };
    };
    return new ChosenEngine(choice, runtime, {
      docker: { whyAbsent: () => whyNoDocker(process.env, address), open: once(openDocker) },
      runsc: { open: once(openRunsc) },
      kubernetes: { open: once(openKubernetes) },
      wasm: { open: once(openWasm) },
    });
  },
};
