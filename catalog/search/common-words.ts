/**
 * English words that say little about which tool is meant, whatever the catalog: general lists, not fitted to any
 * collection of queries.
 */

/** Words of grammar. In prose they are not indexed at all. */
const FUNCTION_WORDS = `
a about above after again against ain all am an and any are aren as at be because been before being below between both
but by can cannot couldn could d did didn do does doesn doing don down during each few for from further had hadn has
hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself let ll m me more
most mustn my myself no nor not of off on once only or other ought our ours ourselves out over own re s same shan she
should shouldn so some such t than that the their theirs them themselves then there these they this those through to
too under until up ve very was wasn we were weren what when where which while who whom why will with won would wouldn
you your yours yourself yourselves`;

/** Words of asking, wishing and describing in general: they frame a request without being its subject. */
const FRAMING_WORDS = `
able across actually allow allowing allows along already also always among another anybody anyone anything appropriate
around ask asked asking asks assist assistance assisting assists available based believe best better certain come comes
coming comprehensive concerning currently curious detailed different easily effectively efficiently else ensure
ensuring enable enabling entire especially etc even ever every everybody everyone everything exactly feel feeling find
finding following found gave get gets getting give given gives giving go goes going good got great hello help helped
helpful helping helps hey hi hope hoping however ideal important include included includes including interested
interesting just keep keeping keeps kind kindly kinds knew know knowing known knows like liked likes look looking looks
lot lots made make makes making many may maybe might much multiple must necessary need needed needing needs never nice
nobody nothing often one ones others overall particular particularly per perfect perhaps please possible possibly
prefer preferably proper properly provide provided provides providing put quickly quite really recommend
recommendation recommendations recommended recommends regarding related relevant say saying says see seeing seem seems
seen several shall show showing shown shows similar simply somebody someone something sometimes soon specific
specifically still suggest suggested suggestion suggestions suggests suitable sure take taken takes taking tell telling
tells thank thankful thanks therefore thing things think thinking thinks thus told tool tools tried tries try trying
unable upon use used useful uses using usually various via want wanted wanting wants way ways well whole wide wish
wishes wishing within without wonder wondered wondering yet`;

/** Words of what is done with anything at all: which tool is meant is said by what it is done to. */
const ACTION_WORDS = `
add build call change check close copy create delete do download edit execute export fetch generate import insert list load
modify move open post publish query read receive remove replace retrieve run save search send set start stop store submit
sync update upload view write`;

const actionWords = new Set(ACTION_WORDS.trim().split(/\s+/));
const functionWords = new Set(FUNCTION_WORDS.trim().split(/\s+/));
const framingWords = new Set(FRAMING_WORDS.trim().split(/\s+/));

export function isFunctionWord(word: string): boolean {
  return functionWords.has(word);
}

/** How much a word of a query counts, from 0 to 1, by what it is and not by how rare it is in the catalog. */
export function queryWeight(word: string): number {
  if (functionWords.has(word)) return 0.05;
  const isFragment = word.length === 1 && word <= "z";
  return framingWords.has(word) || isFragment || /^[0-9]+$/.test(word) ? 0.4 : 1;
}

/** Whether a word says what is done, in a form that any object can follow. */
export function isActionWord(word: string): boolean {
  return actionWords.has(word);
}
