package data_skip;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/**
 * Whether a listed file is still what the listing says. Spark keeps the listing of a DataFrame, view or catalog table for long,
 * yet opens files as they are: a file that was rewritten in place since must be read, whatever its record says.
 *
 * Local files are looked at one by one, and so are files that a query reads by their names: their folder may hold a million others. Elsewhere
 * a folder is listed once, whatever the number of its files.
 */
public final class Freshness {
  private final SparkSession session;
  private Configuration configuration; // made where a folder is listed, once: it is a copy of all settings
  private final Map found = new ConcurrentHashMap(); // by the path of a folder, or of one file, the files there, by their names

  public Freshness(SparkSession session) {
    this.session = session;
  }

  public boolean holds(FileStatusWithMetadata listed) {
    try {
      return "file".equals(listed.getPath().toUri().getScheme()) ? local(listed) : remote(listed);
    } catch (Exception unknown) {
      return false;
    }
  }

  private static boolean local(FileStatusWithMetadata listed) throws java.io.IOException {
    java.nio.file.Path path = Paths.get(listed.getPath().toUri().getPath(), new String[0]);
    BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class, new LinkOption[0]);
    return now.size() == listed.getLen() && now.lastModifiedTime().toInstant().toEpochMilli() == listed.getModificationTime();
  }

  private boolean remote(FileStatusWithMetadata listed) throws java.io.IOException {
    Map files = (Map) found.get(listed.getPath());
    if (files == null) files = (Map) found.get(listed.getPath().getParent());
    FileStatus now = files == null ? null : (FileStatus) files.get(listed.getPath().getName());
    return now != null && now.getLen() == listed.getLen() && now.getModificationTime() == listed.getModificationTime();
  }

  /** Looks at folders, and at files by themselves, several at once; at local files when they are asked about. */
  public void look(Collection folders, Collection files) throws java.io.IOException {
    List calls = new ArrayList();
    addTo(calls, folders, true);
    addTo(calls, files, false);
    FilesNow.atOnce(calls, false);
  }

  private void addTo(List calls, Collection paths, final boolean folders) {
    Iterator all = new LinkedHashSet(paths).iterator();
    while (all.hasNext()) {
      final Path path = (Path) all.next();
      if (configuration == null) configuration = session.sessionState().newHadoopConf();
      final Configuration settings = configuration;
      calls.add(new Callable() {
        public Object call() {
          try {
            Map there = new HashMap();
            FileSystem system = path.getFileSystem(settings);
            FileStatus[] listed = folders ? system.listStatus(path) : new FileStatus[] {system.getFileStatus(path)};
            for (int i = 0; i < listed.length; i++) there.put(listed[i].getPath().getName(), listed[i]);
            found.put(path, there);
          } catch (Exception unknown) {
            found.put(path, Collections.emptyMap()); // of which nothing is believed
          }
          return null;
        }
      });
    }
  }
}
