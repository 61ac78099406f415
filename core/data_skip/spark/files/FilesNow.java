package data_skip;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.unsafe.Platform;

/** What the file system says of some files: of several at once, where each answer takes its time. */
public final class FilesNow {
  private static final int AT_ONCE = 16; // files of an object store that are asked for

  private FilesNow() {}

  /** The files at some paths; null for one that is gone. */
  public static FileStatus[] of(List paths, final Configuration configuration) throws IOException {
    final FileStatus[] found = new FileStatus[paths.size()];
    List asks = new ArrayList();
    for (int i = 0; i < found.length; i++) {
      final int place = i;
      final Path path = (Path) paths.get(i);
      asks.add(new Callable() {
        public Object call() throws IOException {
          try {
            FileStatus now = path.getFileSystem(configuration).getFileStatus(path);
            found[place] = now.isDirectory() ? null : now;
          } catch (FileNotFoundException gone) {
            found[place] = null;
          }
          return null;
        }
      });
    }
    atOnce(asks, paths.isEmpty() || "file".equals(((Path) paths.get(0)).toUri().getScheme()));
    return found;
  }

  /** Calls all; several at once, unless each is quick. */
  public static void atOnce(List calls, boolean quick) throws IOException {
    ExecutorService threads = quick || calls.size() < 2 ? null : Executors.newFixedThreadPool(Math.min(AT_ONCE, calls.size()));
    try {
      List asked = new ArrayList();
      for (int i = 0; i < calls.size(); i++) {
        if (threads == null) ((Callable) calls.get(i)).call();
        else asked.add(threads.submit((Callable) calls.get(i)));
      }
      for (int i = 0; i < asked.size(); i++) ((Future) asked.get(i)).get();
    } catch (java.util.concurrent.ExecutionException e) {
      Platform.throwException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // whoever has ended the query ends what it does next as well
      Platform.throwException(e);
    } catch (Exception e) {
      Platform.throwException(e);
    } finally {
      if (threads != null) threads.shutdownNow();
    }
  }
}
