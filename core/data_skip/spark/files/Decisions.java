package data_skip;

import java.util.Arrays;
import java.util.function.BiFunction;

/** What Python decides of the listings of a scan, or has decided of equal ones. */
public final class Decisions {
  public static final String DECIDED = "decided"; // Python's answer, before what is to be skipped of snapshots: a line each
  private static final String RUN = "run\n"; // as above, before what that may save, and a line for each runtime filter

  private final BiFunction python;
  private final String version; // of the indexes that files are chosen by; null: not known
  private final Answers answers;

  /** version: of the indexes that files are chosen by; null: not known. answers: to those who asked for the same before. */
  public Decisions(BiFunction python, String version, Answers answers) {
    this.python = python;
    this.version = version;
    this.answers = answers;
  }

  /** The same, of which nothing is told again. */
  public Decisions unremembered() {
    return new Decisions(python, null, null);
  }

  /**
   * What Python says of a listing: DECIDED, once the files that need not be read are taken from it; else what it asks for (Callback.apply);
   * null where it says nothing.
   */
  public String of(Listing listing, AskedScan scan) {
    long start = System.nanoTime();
    String told = scan.told().of(listing);
    String known = version == null ? null : answers.of(version, told);
    if (known != null) {
      if (!takeAway(listing, known)) return byCalls(listing, told, scan);
      answers.again(scan.executionId(), scan.number(), number(known), (System.nanoTime() - start) / 1e6);
      return DECIDED;
    }
    boolean opened = Connection.open(python); // of this thread, as one of adaptive execution, that has not asked before
    try {
      if (!Connection.answersAtOnce()) return decision(asked(listing, "")); // it asks for what else would be told
      String said = asked(listing, scan.which(false) + "\n" + told);
      if (said == null || !said.startsWith(DECIDED)) return said;
      if (!takeAway(listing, said)) return byCalls(listing, told, scan);
      if (version != null && !number(said).isEmpty()) answers.put(version, told, said);
      return DECIDED;
    } finally {
      if (opened) Connection.close();
    }
  }

  /** Of what Python says, what is told with it that runtime filters are to be run, a line each; null where it says something else. */
  public static String[] toRun(String said) {
    return said != null && said.startsWith(RUN) ? said.substring(RUN.length()).split("\n", -1) : null;
  }

  /** The clause of a scan, for people. */
  public Object explained(AskedScan scan) {
    String number = Kept.keep(scan);
    try {
      return Connection.ask(python, "explain\n" + number + "\n" + scan.told().ofScan() + "\n" + scan.description(), null);
    } finally {
      Kept.forget(number);
    }
  }

  private String byCalls(Listing listing, String told, AskedScan scan) {
    return decision(asked(listing, scan.which(true) + "\n" + told));
  }

  private static String decision(String said) {
    return said != null && said.startsWith(DECIDED) ? DECIDED : said;
  }

  /** By which number a decision may be told again; "" where it may not. */
  private static String number(String said) {
    return said.split("\n", -1)[1];
  }

  /** Takes away what a decision says; false where that cannot be done so, as of files that have changed: then it takes nothing away. */
  private static boolean takeAway(Listing listing, String said) {
    String[] lines = said.split("\n");
    return listing.skipAll((String[]) Arrays.copyOfRange(lines, Math.min(2, lines.length), lines.length));
  }

  private String asked(Listing listing, String told) {
    String number = Kept.keep(listing);
    String said = null;
    try {
      said = (String) Connection.ask(python, "list\n" + number + "\n" + told, null);
    } finally {
      if (said == null) Kept.forget(number);
    }
    return said == null ? null : Kept.withoutForgotten(said);
  }
}
