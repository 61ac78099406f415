package data_skip;

import java.util.ArrayDeque;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.MultiLikeBase;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.RegExpExtractBase;
import org.apache.spark.sql.catalyst.expressions.RegExpReplace;
import org.apache.spark.sql.catalyst.expressions.StringSplit;
import org.apache.spark.sql.catalyst.expressions.StringToMap;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.url.ParseUrlEvaluator;
import org.apache.spark.sql.types.ObjectType;

/**
 * How long a text may be for Java to match it by a pattern in a second or so, however often it goes back: LIKE '%a%a%a%a%a%a%a%a%a%x' takes
 * days for 60 letters, and nothing ends it. Claims: that what is tried of n letters are no more ways than n for each `*`, `+` or `%` of a
 * pattern, times the choices of the rest; but all combinations where what is repeated has such a choice inside.
 */
public final class Backtracking {
  private static final double MOST = 1e8; // ways
  private static final int ANY = Integer.MAX_VALUE;
  private static final int NONE = 0; // letters, by a pattern of a row: it may be any
  private static final String NOT_READ = "(?s).*(\\\\[Qc]|\\(\\?[a-zA-Z-]*x).*"; // what is quoted, a name, or a comment

  private Backtracking() {}

  /** Which operand of a function of patterns is the text. */
  public static int placeOfText(Expression expression) {
    return isParseUrl(expression) ? 1 : 0;
  }

  private static boolean isParseUrl(Expression expression) {
    if (!(expression instanceof Invoke)) return false;
    Expression target = ((Invoke) expression).targetObject();
    return target.dataType() instanceof ObjectType && ((ObjectType) target.dataType()).cls() == ParseUrlEvaluator.class;
  }

  /** How many letters the text of a function of patterns may have; ANY for other functions. */
  public static int longest(Expression expression) {
    if (isParseUrl(expression)) return expression.children().length() > 3 ? longest(expression, 3, (char) 0) : ANY; // the key is a pattern
    if (expression instanceof Like) return longest(expression, 1, ((Like) expression).escapeChar());
    boolean matches = expression instanceof RLike || expression instanceof RegExpReplace || expression instanceof RegExpExtractBase;
    if (matches || expression instanceof StringSplit) return longest(expression, 1, (char) 0);
    if (expression instanceof StringToMap) return Math.min(longest(expression, 1, (char) 0), longest(expression, 2, (char) 0));
    int longest = ANY;
    if (expression instanceof MultiLikeBase) {
      scala.collection.Iterator patterns = ((MultiLikeBase) expression).patterns().iterator();
      while (patterns.hasNext()) longest = Math.min(longest, ofLike(String.valueOf(patterns.next()), '\\', MOST));
    }
    return longest;
  }

  private static int longest(Expression expression, int place, char escape) {
    Expression pattern = (Expression) expression.children().apply(place);
    if (!pattern.foldable()) return NONE;
    Object text = constant(pattern);
    return text == null ? ANY : escape == 0 ? ofRegex(text.toString(), MOST) : ofLike(text.toString(), escape, MOST);
  }

  /** What a constant gives; null where it raises an error, as whatever it is an operand of does then. */
  public static Object constant(Expression expression) {
    try {
      return Unshared.of(expression).eval(null);
    } catch (Exception raised) {
      return null;
    }
  }

  /** By a pattern of LIKE, if so many ways are tried at most. What is escaped is taken for what it is not, too. */
  public static int ofLike(String pattern, char escape, double most) {
    int wildcards = 0;
    double orders = 1; // of their places, one is tried
    int last = pattern.length() - 1;
    boolean ends = last >= 0 && pattern.charAt(last) == '%' && (last == 0 || pattern.charAt(last - 1) != escape); // takes the rest
    for (int i = 0; i < (ends ? last : last + 1); i++) if (pattern.charAt(i) == '%') orders *= ++wildcards;
    return root(most * orders / Math.max(1, pattern.length()), wildcards, wildcards);
  }

  /** By a regular expression, if so many ways are tried at most. */
  public static int ofRegex(String pattern, double most) {
    Choices all = new Choices();
    double ways = most / Math.max(1, pattern.length());
    if (!read(pattern, all) || pattern.matches(NOT_READ)) {
      int count = pattern.replaceAll("[^|*+?{]", "").length(); // of quantifiers and bars, at most
      return (int) (Math.log(Math.max(1, ways)) / Math.log(2 + count));
    }
    boolean begins = pattern.matches("(?s)\\^[^*+?{|][^|]*"); // else it may begin anywhere
    return root(ways / Math.exp(all.forks), all.repeated + (begins ? 0 : 1), 1);
  }

  /** So many letters that with some more, as places between them, to a power they are no more than these ways. */
  private static int root(double ways, double power, int more) {
    return power == 0 ? ANY : (int) Math.min(ANY, Math.max(0, Math.pow(ways, 1 / power) - more));
  }

  /** What a pattern, or a group of one, leaves open. */
  public static final class Choices {
    private double repeated; // without end
    private double forks; // the logarithm of how many ways there are besides
    private int bars;

    private void add(Choices inner, double times) {
      repeated += inner.repeated * times;
      forks += (inner.forks + Math.log(1 + inner.bars)) * times;
    }

    private boolean isOpen() {
      return repeated > 0 || forks > 0 || bars > 0;
    }
  }

  /** Adds what a pattern leaves open; false where something that is open is repeated, or where it is not known what a letter means. */
  private static boolean read(String pattern, Choices all) {
    boolean known = true;
    ArrayDeque groups = new ArrayDeque();
    Choices group = new Choices();
    Choices before = new Choices(); // what a quantifier would repeat: a letter, a class, or a group
    int i = 0;
    while (i < pattern.length()) {
      char letter = pattern.charAt(i++);
      int[] times = repeated(pattern, i - 1);
      if (times != null) {
        i = times[2];
        boolean endless = times[1] < 0;
        known &= !(endless && before.isOpen());
        group.add(before, Math.max(0, endless ? 1 : times[1] - 1)); // once it is there already
        if (endless) group.repeated++;
        else group.forks += Math.log(1 + times[1] - times[0]);
        continue;
      }
      before = new Choices();
      if (letter == '\\') {
        char escaped = i < pattern.length() ? pattern.charAt(i++) : letter;
        if (escaped == 'k' || (escaped >= '1' && escaped <= '9')) group.repeated++; // what a group has found
        boolean named = "pPxN".indexOf(escaped) >= 0 && pattern.startsWith("{", i);
        if (named && pattern.indexOf('}', i) > 0) i = pattern.indexOf('}', i) + 1;
      } else if (letter == '[') {
        int end = endOfClass(pattern, i);
        known &= end > 0;
        i = Math.max(i, end);
      } else if (letter == '(') {
        groups.push(group);
        group = new Choices();
        if (pattern.startsWith("?", i)) i++;
      } else if (letter == '|') {
        group.bars++;
      } else if (letter == ')' && !groups.isEmpty()) {
        before = group;
        group = (Choices) groups.pop();
        group.add(before, 1);
      }
    }
    while (!groups.isEmpty()) {
      Choices inner = group;
      group = (Choices) groups.pop();
      group.add(inner, 1);
    }
    all.add(group, 1);
    return known;
  }

  /** Behind a class of letters; 0 where its first bracket is not its end, so that one of a group may be a letter of it. */
  private static int endOfClass(String pattern, int start) {
    int i = start;
    while (i < pattern.length() && "[]".indexOf(pattern.charAt(i)) < 0) i += pattern.charAt(i) == '\\' ? 2 : 1;
    boolean isEmpty = i == start || (i == start + 1 && pattern.charAt(start) == '^');
    return isEmpty || i >= pattern.length() || pattern.charAt(i) == '[' ? 0 : i + 1;
  }

  /** Of a quantifier how often it repeats, at least and at most (-1: without end), and where it ends; null where none begins. */
  private static int[] repeated(String pattern, int start) {
    char letter = pattern.charAt(start);
    int end = start + 1;
    int least = 0;
    int most = letter == '?' ? 1 : -1;
    if (letter == '{') {
      end = pattern.indexOf('}', start) + 1;
      if (end == 0) return new int[] {0, -1, pattern.length()};
      String[] bounds = pattern.substring(start + 1, end - 1).split(",", -1);
      for (int i = 0; i < bounds.length; i++) if (bounds.length > 2 || !bounds[i].matches("[0-9]{1,4}")) return new int[] {0, -1, end};
      least = Integer.parseInt(bounds[0]);
      most = Integer.parseInt(bounds[bounds.length - 1]);
    } else if (letter != '*' && letter != '+' && letter != '?') {
      return null;
    }
    if (end < pattern.length() && (pattern.charAt(end) == '?' || pattern.charAt(end) == '+')) end++; // as few as possible, or no way back
    return new int[] {least, most, end};
  }
}
