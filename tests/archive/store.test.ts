import { describeSearch } from "./search-contract.ts";
import { describeStore } from "./store-contract.ts";
import { memory, sqlite } from "./store-kinds.ts";

for (const kind of [sqlite, memory]) describeSearch(kind);
describeStore(sqlite, memory);
describeStore(memory, sqlite);
