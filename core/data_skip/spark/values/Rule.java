package data_skip;

import java.util.List;

/** A claim about a function: what `Rule` of ask_spark.py says, field by field. A field that only one of the two has is an error. */
public final class Rule {
  public List operands;
  public boolean checked;
  public boolean inexact;
  public List cuts; // null where there are none
  public String zone;

  public boolean finite;
  public boolean nonzero;
  public boolean offset;
  public String period; // null where none is asked for
  public boolean seconds;
  public boolean text;
  public int shared;
  public long truncated;
  public long floored;
  public boolean calendar;

  public boolean days;
  public double slack;
}
