/** The actions that rules decide about. */
export type RuleAction = "list" | "call" | "read" | "approve";

/** The schema against which rules are validated, in Cedar's notation. It defines all names that rules may use. */
export const RULE_SCHEMA = `// What the rules of ptc may speak of. Written by \`ptc policy schema\`.

// A group of principals: \`policy.groups\` in ptc.yaml.
entity Group;

// Who runs a program; User::"local" is the person who started ptc on this machine.
entity User in [Group];

// A server, by its name in ptc.yaml.
entity Server;

// What a server claims about its tool. Nobody has checked it.
type Claims = {
  title?: String,
  readOnly?: Bool,
  destructive?: Bool,
  idempotent?: Bool,
  openWorld?: Bool,
};

// A tool, by its name in programs: Tool::"mcp__<server_module>__<tool>". Resources and prompts of a server are such too:
// Tool::"mcp__<server_module>__resources/read".
entity Tool in [Server] {
  // As its server names it.
  name: String,
  server: String,
  // What its results carry, and which labels may flow into it, by ptc.yaml.
  labels: Set<String>,
  accepts?: Set<String>,
  claims: Claims,
};

// The arguments of a call, by path: "to", "message.subject", "items[0].id". Each text, number, truth value and null is a text.
entity Arguments tags String;

// Those that are numbers, to four decimal places, rounded away from zero.
entity Numbers tags decimal;

// Those that are lists of such values, as sets of texts.
entity Lists tags Set<String>;

// By path, what each value carries, and what all values in a list or an object carry together. What content does not decide
// carries what it may depend on.
entity Labels tags Set<String>;

// By path, where values come from: "user" (what the user said), "program", "data", or a tool by its name in programs.
entity Origins tags Set<String>;

// By path, the hosts of URLs in values ("example.com"), and the domains of addresses of e-mail in them. A path is missing where there is none.
entity Hosts tags Set<String>;
entity Domains tags Set<String>;

// By the name of a list in ptc.yaml, the paths of the values that are in it; of a list or an object, where all of its values are.
entity Listed tags Set<String>;

type Conversation = {
  // What its model was shown.
  labels: Set<String>,
};

// What the run has done before this call.
type Run = {
  calls: Long,
  callsOfTool: Long,
  // The servers whose data it has read, by name, and the labels of that data.
  servers: Set<String>,
  labels: Set<String>,
};

type Call = {
  // "run", "serve", "call" or "library".
  source: String,
  now: datetime,
  run: Run,
  arguments: Arguments,
  numbers: Numbers,
  lists: Lists,
  labels: Labels,
  origins: Origins,
  // The paths of the values that the user said; of a list or an object, where the user said all of its values.
  said: Set<String>,
  conversation: Conversation,
  hosts: Hosts,
  domains: Domains,
  listed: Listed,
};

// To find a tool, and to have it in modules and types: who may call it may, unless a rule forbids it.
action list appliesTo { principal: User, resource: Tool };

// To call a tool.
action call appliesTo { principal: User, resource: Tool, context: Call };

// To read a resource or a prompt, or to list them.
action read appliesTo { principal: User, resource: Tool, context: Call };

// To have a call go out that a person has to approve, once one did.
action approve appliesTo { principal: User, resource: Tool, context: Call };
`;
