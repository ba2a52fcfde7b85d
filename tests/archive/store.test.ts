import { join } from "node:path";
import { SqliteArchiveStore } from "../../archive/sqlite/sqlite-archive-store.ts";
import { MemoryStore } from "./memory-store.ts";
import { describeStore, type OpenStore } from "./store-contract.ts";

const sqlite: OpenStore = (folder) =>
  new SqliteArchiveStore({ path: join(folder, "archive.db"), keepDays: 36_500 });
const memory: OpenStore = () => new MemoryStore();

describeStore("SQLite", sqlite, memory);
describeStore("memory", memory, sqlite);
