"""Three plugins, as people wrote them in one sitting who had seen only the installed package and docs/plugins.md."""
