import type { TestProject } from "vitest/node";
import { PostgresServer, WITHOUT_POSTGRES } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where projects of tests keep what outlives a run; empty where that is in files. */
    storageUrl: string;
  }
}

/** Starts one server for test files whose projects are to keep everything in PostgreSQL. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  if (WITHOUT_POSTGRES !== "") {
    process.stderr.write(`the tests of the project "postgres" keep everything in files${WITHOUT_POSTGRES}\n`);
    provide("storageUrl", "");
    return async () => {};
  }
  const server = new PostgresServer(["fsync=off"]);
  await server.start();
  provide("storageUrl", server.url("SCHEMA"));
  return async () => {
    await server.stop();
    server.remove();
  };
}
